// shape.h: the needs of trials: which workers, and how many.
//
// Role:  pure data. Trials of one shape are alike for placement: they wait in one line, and slots
//        that fit one of them fit all.
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

// Requirements on workers.
struct Constraint {
  DeviceKind device = DeviceKind::kCpu;
  uint32_t level = 0;       // lowest worker level (common/worker_level.h)
  bool programs = false;    // the trial is a program of its experiment
  bool trainer = false;     // the trial needs dttrain
  std::string environment;  // kind of environment that a worker must make; "": none
  std::string accelerator;  // part of the device's name, in lower case; "": any
  std::vector<std::pair<std::string, std::string>> labels;  // required of each worker, sorted
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
  int32_t slots = 1;                       // the preferred number
  bool single_node = false;                // all on one host
  std::optional<spec::GangSizes> elastic;  // other sizes that are allowed
  // Number of neighbouring ranks that share each layer (parallel.tensor): on one host if possible.
  int32_t together = 1;
  auto operator<=>(const Shape&) const = default;
  bool operator==(const Shape&) const = default;

  int32_t least() const { return elastic.has_value() ? elastic->least : slots; }
  int32_t most() const { return elastic.has_value() ? elastic->most : slots; }
  // Returns the largest allowed size up to `slots_there`; 0: none.
  int32_t SizeWithin(int32_t slots_there) const;
};
// Returns the shape with exactly `slots` slots.
Shape AtSize(const Shape& shape, int32_t slots);

// Returns whether a worker meets the constraint, by its own description. After a restart of the
// coordinator that is the journal's knowledge until the worker is heard again.
bool Meets(const Constraint& constraint, const v1::Hello& hello);
// Returns why the worker cannot make an environment of this kind; "": it can.
std::string WhyNoEnvironment(const v1::Hello& hello, const std::string& kind);
// Returns the needs besides the kind of device: "accelerator h100 and label zone=a"; "": nothing.
std::string RequirementText(const Constraint& constraint);
// Returns "8 cuda slots on one host with accelerator h100", or "2 to 8 cuda slots" if elastic.
std::string ShapeText(const Shape& shape);

}  // namespace dt
