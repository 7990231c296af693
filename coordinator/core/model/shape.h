// shape.h: what trials want of the fleet: which workers, and how many.
//
// Role:  pure data. Trials of one shape are alike to placement: they wait in one line, and what
//        fits one of them fits them all.
// Tests: tests/coordinator/core/placement_test.cc, schedule_test.cc
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/device.h"
#include "dtrain/v1/fleet.pb.h"
#include "spec/sizes.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// Which workers will do.
struct Constraint {
  DeviceKind device = DeviceKind::kCpu;
  uint32_t level = 0;       // that workers must have at least (common/worker_level.h)
  bool programs = false;    // the trial is a program that its experiment brings
  std::string accelerator;  // part of the device's name, in lower case; "": any
  std::vector<std::pair<std::string, std::string>> labels;  // that each must have, sorted
  auto operator<=>(const Constraint&) const = default;
  bool operator==(const Constraint&) const = default;
};

inline Constraint AnyOf(DeviceKind device) {
  Constraint any;
  any.device = device;
  return any;
}

struct Shape {
  Constraint constraint;
  int32_t slots = 1;                       // that it starts with where they are to be had
  bool single_node = false;                // all on one host
  std::optional<spec::GangSizes> elastic;  // what will do beside `slots`
  // Neighbours in rank that share each layer (parallel.tensor): on one host, where that is to be
  // had.
  int32_t together = 1;
  auto operator<=>(const Shape&) const = default;
  bool operator==(const Shape&) const = default;

  int32_t least() const { return elastic.has_value() ? elastic->least : slots; }
  int32_t most() const { return elastic.has_value() ? elastic->most : slots; }
  // The largest size up to so many slots; 0: none.
  int32_t SizeWithin(int32_t slots_there) const;
};
// The same for so many slots and no other number.
Shape AtSize(const Shape& shape, int32_t slots);

// Whether a worker as it described itself will do; after a restart of the coordinator that is what
// the journal knows, until it is heard again.
bool Meets(const Constraint& constraint, const v1::Hello& hello);
// What a worker must have besides its kind of device: "accelerator h100 and label zone=a"; "": nothing.
std::string RequirementText(const Constraint& constraint);
// "8 cuda slots on one host with accelerator h100"; of an elastic gang "2 to 8 cuda slots".
std::string ShapeText(const Shape& shape);

}  // namespace dt
