// device.h: the kinds of device that a slot may be, by their words in files and messages.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dt {

enum class DeviceKind : uint8_t { kCpu, kCuda };
inline constexpr std::array kDevices = {DeviceKind::kCpu, DeviceKind::kCuda};
inline constexpr size_t kDeviceKinds = kDevices.size();

constexpr std::string_view Name(DeviceKind device) {
  return device == DeviceKind::kCuda ? "cuda" : "cpu";
}
// REQUIRES: a checked word; anything but "cuda" is "cpu".
constexpr DeviceKind DeviceKindOf(std::string_view word) {
  return word == "cuda" ? DeviceKind::kCuda : DeviceKind::kCpu;
}

}  // namespace dt
