// specification_drawing.h: draws an experiment from bytes: complete, with fields inside their
// ranges and just outside them.
//
// Role: part of tests/testing/specification_hunt.h.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spec/spec.h"
#include "tests/testing/experiments.h"

namespace dt::hunt {

namespace v1 = ::dtrain::v1;
using dt::spec::Field;
using dt::spec::FieldType;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

inline constexpr double kHuge[] = {0x1p31, -0x1p31, 0x1p53, 0x1p63, -0x1p63,  0x1p64,
                                   1e150,  1e151,   -1e308, 1e308,  5e-324,   -5e-324,
                                   1e-150, 1e-300,  -0.0,   NAN,    INFINITY, -INFINITY};

// Choices made from bytes; after the last byte each is the smallest.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  size_t left() const { return left_; }
  uint32_t Pick(uint32_t most) {
    uint64_t number = 0;
    for (uint64_t reach = 1; reach <= most && left_ > 0; reach *= 256, --left_) {
      number = number * 256 + *data_++;
    }
    return static_cast<uint32_t>(number % (uint64_t{most} + 1));
  }
  double Between(double low, double high) {
    constexpr uint32_t kParts = (1 << 24) - 1;
    return low + (high - low) * (Pick(kParts) / static_cast<double>(kParts));
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

// Draws an experiment. Most fields keep their defaults, and most others lie inside their ranges, so
// that many pass.
class Drawing {
 public:
  explicit Drawing(Choices& bytes) : bytes_(bytes) {}

  v1::ExperimentSpec Spec() {
    spec_ = dt::OneTrial();
    calm_ = !One(4);
    program_ = One(4);
    if (program_) MakeProgram();
    const uint32_t changes = Pick(calm_ ? 2 : 12);
    for (uint32_t i = 0; i < changes; ++i) {
      const Field& field = AnyField();
      SetNumber(*spec_.mutable_base(), field, Number(field));
      if (One(8))
        continue;  // leaves it unmarked, like a client that does not list the fields it
                   // set
      if (!dt::spec::IsExplicit(spec_, field.path)) spec_.add_explicit_paths(field.path);
    }
    if (One(calm_ ? 6 : 3)) SetWords();
    SetSearch();
    const uint32_t parameters = Pick(calm_ ? 1 : 3) + (spec_.search().method() == "grid" ? 0 : 1);
    for (uint32_t i = 0; i < parameters; ++i) AddParameter();
    if (One(4)) AddCombinations();
    if (One(calm_ ? 16 : 6)) {
      for (uint32_t i = Pick(3); i > 0; --i) spec_.add_seeds(Integer(Number({})));
    }
    return std::move(spec_);
  }

  bool One(uint32_t in) { return Pick(in - 1) == 0; }
  uint32_t Pick(uint32_t most) { return bytes_.Pick(most); }

  double Number(const Field& field) {
    const bool ranged = field.min != 0 || field.max != 0;
    if (calm_ && !One(64)) {
      // A plausible number inside the range.
      const double most = ranged ? field.max : 1e6;
      if (field.type == FieldType::kInteger || One(2)) {
        const double small = std::min(most, field.min + std::ldexp(1.0, static_cast<int>(Pick(5))));
        return One(2) ? small : std::min(most, std::max(field.min, 1.0 * Pick(16)));
      }
      return bytes_.Between(field.min, std::min(most, field.min + 1));
    }
    switch (Pick(9)) {
      case 0:
        return kHuge[Pick(std::size(kHuge) - 1)];
      case 1:
        return field.min - 1;
      case 2:
        return field.max + 1;
      case 3:
        return field.max;
      case 4:
        return field.min;
      case 5:
        return bytes_.Between(field.min, ranged ? field.max : 1);
      case 6:
        return std::ldexp(1.0, static_cast<int>(Pick(20)));
      default:
        return Pick(16);
    }
  }

  static int64_t Integer(double number) {
    if (!(number > -0x1p62)) return std::numeric_limits<int64_t>::min();
    return number < 0x1p62 ? static_cast<int64_t>(number) : std::numeric_limits<int64_t>::max();
  }

  v1::Range AnyRange(const Field& field) {
    v1::Range range;
    range.set_min(Number(field));
    range.set_max(One(4) ? std::nextafter(range.min(), INFINITY) : Number(field));
    if (range.min() > range.max() && !One(8)) {
      const double min = range.min();
      range.set_min(range.max());
      range.set_max(min);
    }
    if (One(3)) range.set_step(One(2) ? 1 : Number(field));
    if (One(3)) range.set_scale("log");
    return range;
  }

 private:
  const Field& AnyField() {
    const auto& table = dt::spec::FieldTable();
    return table[Pick(static_cast<uint32_t>(table.size()) - 1)];
  }

  void MakeProgram() {
    v1::ExperimentSpec spec;
    spec.set_version(1);
    spec.set_name("program");
    *spec.mutable_base() = dt::spec::DefaultSpec();
    spec.mutable_search()->set_metric("loss");
    spec.mutable_base()->set_run("train --x {x}");
    spec.mutable_base()->set_steps(Pick(1000));
    for (const char* path : {"run", "steps"}) spec.add_explicit_paths(path);
    spec_ = std::move(spec);
    v1::Parameter& parameter = *spec_.add_parameters();
    parameter.set_path("x");
    Field own;
    own.path = "x";
    own.type = FieldType::kNumber;
    own.max = 1;
    if (One(2)) {
      *parameter.mutable_range() = AnyRange(own);
    } else {
      parameter.add_values()->set_number(Number(own));
    }
  }

  // Sets the number past all checks, as a message on the wire can.
  static void SetNumber(v1::Spec& base, const Field& field, double number) {
    Message* message = &base;
    std::string path = field.path;
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
      const auto* section = message->GetDescriptor()->FindFieldByName(path.substr(0, dot));
      message = message->GetReflection()->MutableMessage(message, section);
      path = path.substr(dot + 1);
    }
    const FieldDescriptor* place = message->GetDescriptor()->FindFieldByName(path);
    if (place == nullptr) place = message->GetDescriptor()->FindFieldByName(path + "_seconds");
    const auto* to = message->GetReflection();
    const int64_t integer = Integer(number);
    switch (field.type) {
      case FieldType::kInteger:
        if (place->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
          return to->SetInt32(message, place, static_cast<int32_t>(integer));
        }
        return to->SetInt64(message, place, integer);
      case FieldType::kNumber:
      case FieldType::kDuration:
        return to->SetDouble(message, place, number);
      case FieldType::kNumbers:
        return to->AddDouble(message, place, number);
      case FieldType::kEvery: {
        auto& every = static_cast<v1::Every&>(*to->MutableMessage(message, place));
        every.set_steps(static_cast<uint64_t>(integer));
        return every.set_seconds(integer % 2 == 0 ? number : 0);
      }
      case FieldType::kFlag:
        return to->SetBool(message, place, integer % 2 == 0);
      case FieldType::kChoice:
        if (integer < 0) return to->SetString(message, place, "no such word");
        return to->SetString(message, place,
                             field.choices[static_cast<size_t>(integer) % field.choices.size()]);
      case FieldType::kText:
      case FieldType::kLabels:
      case FieldType::kTexts:
        return;
    }
  }

  // Sets the fields that make ranks share work.
  void SetWords() {
    v1::Spec& base = *spec_.mutable_base();
    for (const char* path :
         {"resources.gpus", "resources.min_gpus", "resources.max_gpus", "parallel.strategy",
          "parallel.shard", "parallel.tensor", "parallel.pipeline", "parallel.schedule",
          "parallel.microbatches", "train.global_batch_size", "train.batch_size"}) {
      if (One(2)) continue;
      SetNumber(base, *dt::spec::FindField(path), 1 << Pick(4));
      if (!dt::spec::IsExplicit(spec_, path)) spec_.add_explicit_paths(path);
    }
  }

  void SetSearch() {
    v1::Search& search = *spec_.mutable_search();
    constexpr const char* kMethods[] = {"grid", "random", "bayes", "asha", "pbt"};
    search.set_method(kMethods[Pick(4)]);
    if (search.method() == "asha" && One(2)) search.set_sampler(kMethods[Pick(2)]);
    if (search.method() != "grid") search.set_max_trials(1 + static_cast<int32_t>(Pick(16)));
    if (search.method() == "asha" || !calm_) {
      if (One(4)) search.mutable_asha()->set_eta(2 + static_cast<int32_t>(Pick(calm_ ? 2 : 12)));
      if (One(4)) search.mutable_asha()->set_rungs(1 + static_cast<int32_t>(Pick(calm_ ? 2 : 8)));
      if (One(4)) search.mutable_asha()->set_brackets(static_cast<int32_t>(Pick(calm_ ? 1 : 8)));
      spec_.mutable_base()->mutable_train()->set_max_steps(100);
    }
    if (search.method() == "pbt" || !calm_) {
      if (One(4)) search.mutable_pbt()->set_every(calm_ ? 0.25 : Number({}) / 16);
      if (One(4)) search.mutable_pbt()->set_quantile(calm_ ? 0.5 : Number({}) / 16);
      spec_.mutable_base()->mutable_train()->set_max_steps(100);
    }
    if (One(8)) search.set_target(Number({}));
    if (One(calm_ ? 64 : 8)) search.set_max_trials(static_cast<int32_t>(Integer(Number({}))));
    if (One(8)) search.set_max_concurrent(static_cast<int32_t>(Integer(Number({}))));
    if (One(8)) search.set_max_failed_trials(static_cast<int32_t>(Integer(Number({}))));
    if (One(4)) search.set_goal(One(2) ? "maximize" : "minimize");
  }

  v1::Value AnyValue(const Field& field) {
    v1::Value value;
    switch (field.type) {
      case FieldType::kInteger:
        value.set_integer(Integer(Number(field)));
        break;
      case FieldType::kFlag:
        value.set_flag(One(2));
        break;
      case FieldType::kChoice:
        value.set_text(field.choices[Pick(static_cast<uint32_t>(field.choices.size()) - 1)]);
        break;
      case FieldType::kText:
        value.set_text(std::string(1 + Pick(3), 'a'));
        break;
      case FieldType::kDuration:
      case FieldType::kEvery:
        value.set_text(absl::StrCat(Pick(100), "s"));
        break;
      case FieldType::kNumbers:
        for (uint32_t i = Pick(3); i > 0; --i) {
          value.mutable_numbers()->add_values(Number(field) / 16);
        }
        break;
      case FieldType::kNumber:
      case FieldType::kLabels:
      case FieldType::kTexts:
        value.set_number(Number(field));
        break;
    }
    if (One(16)) value.set_number(Number(field));
    return value;
  }

  // Returns whether searches in experiment files often sweep this field.
  static bool Swept(const Field& field) {
    return field.type == FieldType::kNumber || field.path == "train.batch_size" ||
           field.path == "model.n_layer" || field.path == "resources.gpus" ||
           field.type == FieldType::kFlag;
  }

  void AddParameter() {
    const Field* any = &AnyField();
    for (int tries = 0; calm_ && tries < 8 && !(any->sweepable && Swept(*any)); ++tries) {
      any = &AnyField();
    }
    const Field& field = *any;
    v1::Parameter& parameter = *spec_.add_parameters();
    parameter.set_path(field.path);
    auto& set = *spec_.mutable_explicit_paths();
    for (int i = set.size() - 1; i >= 0 && !One(8); --i) {
      if (set.Get(i) == field.path) set.erase(set.begin() + i);
    }
    const bool numbers = field.type == FieldType::kInteger || field.type == FieldType::kNumber;
    if (numbers && spec_.search().method() != "grid" && !One(4)) {
      *parameter.mutable_range() = AnyRange(field);
      return;
    }
    for (uint32_t i = 1 + Pick(3); i > 0; --i) *parameter.add_values() = AnyValue(field);
    if (!One(8)) return;
    for (const auto& value : parameter.values()) {
      parameter.add_probabilities(value.kind_case() == 0 ? 1 : Number(field));
    }
  }

  void AddCombinations() {
    for (const v1::Parameter& parameter : spec_.parameters()) {
      const Field* field = dt::spec::FindField(parameter.path());
      v1::Assignment one;
      one.set_path(parameter.path());
      if (!parameter.values().empty() && !One(4)) {
        *one.mutable_value() = parameter.values(0);
      } else {
        one.mutable_value()->set_number(field == nullptr ? 0.5 : Number(*field));
      }
      auto& list = *spec_.mutable_include();
      if (list.empty()) spec_.add_include();
      *spec_.mutable_include(0)->add_values() = one;
      if (One(3)) *spec_.add_exclude()->add_where() = one;
    }
  }

  Choices& bytes_;
  v1::ExperimentSpec spec_;
  bool program_ = false;
  bool calm_ = false;  // most numbers lie inside their ranges
};

}  // namespace dt::hunt
