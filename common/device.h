// device.h: the kinds of device that a slot may be, by their words in files and messages.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dt {

// kClient: no device of a worker, but a process of a user's that asks for trials
// (common/client_trial.h).
enum class DeviceKind : uint8_t { kCpu, kCuda, kClient };
// The kinds that workers offer.
inline constexpr std::array kDevices = {DeviceKind::kCpu, DeviceKind::kCuda};
inline constexpr size_t kDeviceKinds = kDevices.size();

constexpr std::string_view Name(DeviceKind device) {
  switch (device) {
    case DeviceKind::kCpu:
      break;
    case DeviceKind::kCuda:
      return "cuda";
    case DeviceKind::kClient:
      return "client";
  }
  return "cpu";
}
// REQUIRES: a checked word; anything but "cuda" and "client" is "cpu".
constexpr DeviceKind DeviceKindOf(std::string_view word) {
  return word == "cuda"     ? DeviceKind::kCuda
         : word == "client" ? DeviceKind::kClient
                            : DeviceKind::kCpu;
}

}  // namespace dt
