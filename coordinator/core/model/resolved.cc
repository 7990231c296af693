#include "coordinator/core/model/resolved.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/message_differencer.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kLongTextBytes = 64;

// Field of v1::Spec or of one of its sections.
struct SpecField {
  const FieldDescriptor* section = nullptr;  // nullptr: v1::Spec itself
  const FieldDescriptor* field = nullptr;    // nullptr: no such path
};

std::string PathOf(const SpecField& field) {
  return field.section == nullptr ? field.field->name()
                                  : absl::StrCat(field.section->name(), ".", field.field->name());
}

// All fields of this version's specification, with their paths, and an index by path.
struct AllFields {
  std::vector<SpecField> fields;
  std::vector<std::string> paths;
  absl::flat_hash_map<std::string, size_t> places;

  AllFields() {
    const auto* spec = v1::Spec::descriptor();
    for (int i = 0; i < spec->field_count(); ++i) {
      const FieldDescriptor* section = spec->field(i);
      if (section->message_type() == nullptr || section->is_repeated()) {
        Add({nullptr, section});
        continue;
      }
      for (int j = 0; j < section->message_type()->field_count(); ++j) {
        Add({section, section->message_type()->field(j)});
      }
    }
  }
  void Add(const SpecField& field) {
    paths.push_back(PathOf(field));
    places.emplace(paths.back(), fields.size());
    fields.push_back(field);
  }
  std::optional<size_t> Find(std::string_view path) const {
    const auto found = places.find(absl::string_view(path.data(), path.size()));
    return found == places.end() ? std::nullopt : std::optional<size_t>(found->second);
  }
};

const AllFields& TodaysFields() {
  static const auto& all = *new AllFields;
  return all;
}

SpecField FindSpecField(std::string_view path) {
  const std::optional<size_t> place = TodaysFields().Find(path);
  return place ? TodaysFields().fields[*place] : SpecField{};
}

const Message& HolderIn(const v1::Spec& spec, const SpecField& place) {
  return place.section == nullptr ? spec : spec.GetReflection()->GetMessage(spec, place.section);
}

void CopyField(const v1::Spec& from, const SpecField& place, v1::Spec& to) {
  const Message& source = HolderIn(from, place);
  const std::unique_ptr<Message> copy(source.New());
  copy->CopyFrom(source);
  Message* target =
      place.section == nullptr ? &to : to.GetReflection()->MutableMessage(&to, place.section);
  copy->GetReflection()->SwapFields(copy.get(), target, {place.field});
}

bool SameField(const v1::Spec& one, const v1::Spec& other, const SpecField& place) {
  const Message& a = HolderIn(one, place);
  const Message& b = HolderIn(other, place);
  const auto* reflection = a.GetReflection();
  const FieldDescriptor* field = place.field;
  if (!field->is_repeated()) {
    const FieldDescriptor::CppType type = field->cpp_type();
    if (type == FieldDescriptor::CPPTYPE_INT32) {
      return reflection->GetInt32(a, field) == reflection->GetInt32(b, field);
    }
    if (type == FieldDescriptor::CPPTYPE_INT64) {
      return reflection->GetInt64(a, field) == reflection->GetInt64(b, field);
    }
    if (type == FieldDescriptor::CPPTYPE_DOUBLE) {
      return reflection->GetDouble(a, field) == reflection->GetDouble(b, field);
    }
    if (type == FieldDescriptor::CPPTYPE_BOOL) {
      return reflection->GetBool(a, field) == reflection->GetBool(b, field);
    }
    if (type == FieldDescriptor::CPPTYPE_STRING) {
      std::string of_a;
      std::string of_b;
      return reflection->GetStringReference(a, field, &of_a) ==
             reflection->GetStringReference(b, field, &of_b);
    }
  }
  google::protobuf::util::MessageDifferencer differencer;
  return differencer.CompareWithFields(a, b, {field}, {field});
}

void CopyChanged(const v1::Spec& from, const SpecField& place, v1::Spec& to) {
  if (!SameField(from, to, place)) CopyField(from, place, to);
}

// Returns whether the field is a long swept text: no rule changes it, and the list of values has
// it.
bool IsLongText(const v1::Spec& spec, const SpecField& place) {
  if (place.field->cpp_type() != FieldDescriptor::CPPTYPE_STRING || place.field->is_repeated()) {
    return false;
  }
  const Message& holder = HolderIn(spec, place);
  std::string text;
  return holder.GetReflection()->GetStringReference(holder, place.field, &text).size() >
         kLongTextBytes;
}

bool IsAssigned(const v1::ExpandedTrial& trial, std::string_view path) {
  return std::any_of(
      trial.assignments().begin(), trial.assignments().end(),
      [path](const v1::Assignment& assignment) { return assignment.path() == path; });
}

// Adds to `trial` the fields of `mine` that differ from `shared`.
void KeepDifferences(const v1::Spec& shared, const std::vector<SpecField>& fields,
                     const v1::Spec& mine, v1::ExpandedTrial& trial) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const SpecField& field = fields[i];
    if (field.field == nullptr || SameField(mine, shared, field)) continue;
    if (IsLongText(mine, field) && IsAssigned(trial, PathOf(field))) continue;
    trial.add_differs(static_cast<uint32_t>(i));
    CopyField(mine, field, *trial.mutable_resolved());
  }
}

// Returns whether the field of a program's trials differs only by their values, which each trial
// has. Stored again it would be every command, thousands of times. Substitution never changes.
bool HasValuesIn(std::string_view path) {
  return path == "values" || path == "command" || path == "run" || path == "workdir" ||
         path == "resources.env";
}

template <typename Paths>
std::vector<SpecField> FindSpecFields(const Paths& paths) {
  std::vector<SpecField> fields;
  for (const std::string& path : paths) fields.push_back(FindSpecField(path));
  return fields;
}

absl::StatusOr<v1::Spec> Resolve(const v1::ExperimentSpec& spec, const v1::ExpandedTrial& trial) {
  return spec::ResolveTrial(spec, {trial.assignments().begin(), trial.assignments().end()});
}

absl::Status KeepOne(const Experiment& experiment, const std::vector<SpecField>& fields,
                     v1::ExpandedTrial& trial) {
  DT_ASSIGN_OR_RETURN(const v1::Spec mine, Resolve(experiment.spec, trial));
  KeepDifferences(experiment.resolved, fields, mine, trial);
  return absl::OkStatus();
}

}  // namespace

absl::Status KeepResolved(v1::ExperimentSubmitted& fact) {
  const bool program = spec::IsProgram(fact.spec());
  for (const std::string& path : TodaysFields().paths) {
    const bool kept = !HasValuesIn(path) || (!program && path == "resources.env");
    if (kept) fact.add_resolved_paths(path);
  }
  *fact.mutable_resolved() = fact.spec().base();  // if its trials do not exist yet
  if (fact.trials().empty()) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(*fact.mutable_resolved(), Resolve(fact.spec(), fact.trials(0)));
  const std::vector<SpecField> fields = FindSpecFields(fact.resolved_paths());
  for (v1::ExpandedTrial& trial : *fact.mutable_trials()) {
    if (trial.trial() == 1) continue;
    DT_ASSIGN_OR_RETURN(const v1::Spec mine, Resolve(fact.spec(), trial));
    KeepDifferences(fact.resolved(), fields, mine, trial);
  }
  return absl::OkStatus();
}

absl::Status KeepResolved(const Experiment& experiment, v1::TrialsAdded& fact) {
  const std::vector<SpecField> fields = FindSpecFields(experiment.resolved_paths);
  for (v1::ExpandedTrial& trial : *fact.mutable_trials()) {
    DT_RETURN_IF_ERROR(KeepOne(experiment, fields, trial));
  }
  return absl::OkStatus();
}

absl::Status KeepResolved(const Experiment& experiment, v1::ExpandedTrial& trial) {
  return KeepOne(experiment, FindSpecFields(experiment.resolved_paths), trial);
}

absl::StatusOr<v1::Spec> ResolvedOf(const Experiment& experiment, const Trial& trial) {
  const v1::ExpandedTrial expanded = ExpandedOf(experiment, trial);
  absl::StatusOr<v1::Spec> today = Resolve(experiment.spec, expanded);
  if (experiment.resolved_paths.empty()) return today;
  const AllFields& all = TodaysFields();
  std::vector<bool> kept(all.fields.size(), false);  // whether the stored value is known
  std::vector<size_t> places;
  for (const std::string& path : experiment.resolved_paths) {
    const std::optional<size_t> place = all.Find(path);
    if (!place) {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          " is not a field of this version; the experiment was taken by another one, which can ",
          "train it"));
    }
    places.push_back(*place);
    kept[*place] = true;
  }
  v1::Spec spec = experiment.resolved;
  for (size_t i = 0; today.ok() && i < all.fields.size(); ++i) {
    const SpecField& field = all.fields[i];
    const bool by_assignment = IsLongText(*today, field) && IsAssigned(expanded, all.paths[i]);
    if (!kept[i] || by_assignment) CopyChanged(*today, field, spec);
  }
  for (const uint32_t place : expanded.differs()) {
    CopyChanged(expanded.resolved(), all.fields[places[place]], spec);
  }
  return spec;
}

absl::StatusOr<v1::Spec> ResolvedForGang(const Experiment& experiment, const Trial& trial) {
  DT_ASSIGN_OR_RETURN(v1::Spec spec, ResolvedOf(experiment, trial));
  spec.mutable_resources()->set_gpus(static_cast<int32_t>(trial.attempts.back().members.size()));
  return spec;
}

}  // namespace dt
