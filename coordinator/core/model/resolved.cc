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

// Copies a field of a type that most have. Returns false for another one, and does nothing.
bool CopyPlain(const Message& source, const FieldDescriptor* field, Message* target) {
  const auto* reflection = source.GetReflection();
  if (field->is_repeated() || field->has_presence()) return false;
  const FieldDescriptor::CppType type = field->cpp_type();
  if (type == FieldDescriptor::CPPTYPE_INT32) {
    reflection->SetInt32(target, field, reflection->GetInt32(source, field));
  } else if (type == FieldDescriptor::CPPTYPE_INT64) {
    reflection->SetInt64(target, field, reflection->GetInt64(source, field));
  } else if (type == FieldDescriptor::CPPTYPE_DOUBLE) {
    reflection->SetDouble(target, field, reflection->GetDouble(source, field));
  } else if (type == FieldDescriptor::CPPTYPE_BOOL) {
    reflection->SetBool(target, field, reflection->GetBool(source, field));
  } else if (type == FieldDescriptor::CPPTYPE_STRING) {
    reflection->SetString(target, field, reflection->GetString(source, field));
  } else {
    return false;
  }
  return true;
}

void CopyField(const v1::Spec& from, const SpecField& place, v1::Spec& to) {
  const Message& source = HolderIn(from, place);
  Message* target =
      place.section == nullptr ? &to : to.GetReflection()->MutableMessage(&to, place.section);
  if (CopyPlain(source, place.field, target)) return;
  // The copy has all fields of the section, which may be many.
  const std::unique_ptr<Message> copy(source.New());
  copy->CopyFrom(source);
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

// The specification with which trials are compared, and the fields of which they are stored.
struct Shared {
  const v1::Spec& spec;
  std::vector<SpecField> fields;
  std::vector<std::string> sections;  // serialized, by index in v1::Spec; "" for what is no section

  template <typename Paths>
  Shared(const v1::Spec& its_spec, const Paths& paths)
      : spec(its_spec), sections(v1::Spec::descriptor()->field_count()) {
    for (const std::string& path : paths) fields.push_back(FindSpecField(path));
    for (const SpecField& field : fields) {
      if (field.section == nullptr) continue;
      sections[field.section->index()] = HolderIn(spec, field).SerializeAsString();
    }
  }
  // Returns by index which sections of `mine` have equal bytes. Most have, and comparing bytes is
  // much faster than comparing fields.
  std::vector<bool> SameSections(const v1::Spec& mine) const {
    std::vector<bool> same(sections.size(), false);
    const auto* reflection = mine.GetReflection();
    std::string bytes;
    for (size_t i = 0; i < sections.size(); ++i) {
      const FieldDescriptor* section = v1::Spec::descriptor()->field(static_cast<int>(i));
      if (section->message_type() == nullptr || section->is_repeated()) continue;
      bytes.clear();
      same[i] =
          reflection->GetMessage(mine, section).AppendToString(&bytes) && bytes == sections[i];
    }
    return same;
  }
};

// Adds to `trial` the fields of `mine` that differ from `shared`.
void KeepDifferences(const Shared& shared, const v1::Spec& mine, v1::ExpandedTrial& trial) {
  const std::vector<bool> same = shared.SameSections(mine);
  for (size_t i = 0; i < shared.fields.size(); ++i) {
    const SpecField& field = shared.fields[i];
    if (field.section != nullptr && same[field.section->index()]) continue;
    if (field.field == nullptr || SameField(mine, shared.spec, field)) continue;
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

// Fields of which an experiment stores the values, as places in AllFields.
struct StoredFields {
  std::vector<size_t> places;  // in the order of the experiment's list
  std::vector<size_t> others;  // today's fields that are not in it
};

absl::StatusOr<StoredFields> FindStored(const std::vector<std::string>& paths) {
  const AllFields& all = TodaysFields();
  StoredFields stored;
  std::vector<bool> kept(all.fields.size(), false);
  for (const std::string& path : paths) {
    const std::optional<size_t> place = all.Find(path);
    if (!place) {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          " is not a field of this version; the experiment was taken by another one, which can ",
          "train it"));
    }
    stored.places.push_back(*place);
    kept[*place] = true;
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) stored.others.push_back(i);
  }
  return stored;
}

// The list that a submission of today has. It is found once, since every placed trial needs it.
struct TodaysList {
  std::vector<std::string> paths;
  StoredFields stored;

  explicit TodaysList(bool program) {
    for (const std::string& path : TodaysFields().paths) {
      const bool kept = !HasValuesIn(path) || (!program && path == "resources.env");
      if (kept) paths.push_back(path);
    }
    stored = *FindStored(paths);
  }
};

const TodaysList& TodaysListOf(bool program) {
  static const auto& of_trainer = *new TodaysList(false);
  static const auto& of_program = *new TodaysList(true);
  return program ? of_program : of_trainer;
}

// Returns whether no rule decides a field of the trial, if today's list stores its fields: a
// trainer's trial has the others from the file, unless a value names one or is a long text.
bool HasNoRuled(const v1::ExpandedTrial& trial) {
  return std::none_of(
      trial.assignments().begin(), trial.assignments().end(), [](const v1::Assignment& each) {
        return HasValuesIn(each.path()) || each.value().text().size() > kLongTextBytes;
      });
}

absl::StatusOr<v1::Spec> Resolve(const v1::ExperimentSpec& spec, const v1::ExpandedTrial& trial) {
  return spec::ResolveTrial(spec, {trial.assignments().begin(), trial.assignments().end()});
}

// Copies to `spec` the fields that today's rules decide: those that are not stored, and long texts.
void CopyRuled(const Experiment& experiment, const v1::ExpandedTrial& expanded,
               const StoredFields& stored, v1::Spec& spec) {
  const absl::StatusOr<v1::Spec> today = Resolve(experiment.spec, expanded);
  if (!today.ok()) return;
  const AllFields& all = TodaysFields();
  for (const size_t i : stored.others) CopyChanged(*today, all.fields[i], spec);
  for (const v1::Assignment& assignment : expanded.assignments()) {
    const std::optional<size_t> place = all.Find(assignment.path());
    if (place && IsLongText(*today, all.fields[*place])) {
      CopyChanged(*today, all.fields[*place], spec);
    }
  }
}

}  // namespace

absl::Status KeepResolved(v1::ExperimentSubmitted& fact) {
  for (const std::string& path : TodaysListOf(spec::IsProgram(fact.spec())).paths) {
    fact.add_resolved_paths(path);
  }
  *fact.mutable_resolved() = fact.spec().base();  // if its trials do not exist yet
  if (fact.trials().empty()) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(*fact.mutable_resolved(), Resolve(fact.spec(), fact.trials(0)));
  const Shared shared(fact.resolved(), fact.resolved_paths());
  for (v1::ExpandedTrial& trial : *fact.mutable_trials()) {
    if (trial.trial() == 1) continue;
    DT_ASSIGN_OR_RETURN(const v1::Spec mine, Resolve(fact.spec(), trial));
    KeepDifferences(shared, mine, trial);
  }
  return absl::OkStatus();
}

absl::Status KeepResolved(const Experiment& experiment, v1::TrialsAdded& fact) {
  for (v1::ExpandedTrial& trial : *fact.mutable_trials()) {
    DT_RETURN_IF_ERROR(KeepResolved(experiment, trial));
  }
  return absl::OkStatus();
}

absl::Status KeepResolved(const Experiment& experiment, v1::ExpandedTrial& trial) {
  DT_ASSIGN_OR_RETURN(const v1::Spec mine, Resolve(experiment.spec, trial));
  KeepDifferences(Shared(experiment.resolved, experiment.resolved_paths), mine, trial);
  return absl::OkStatus();
}

absl::StatusOr<v1::Spec> ResolvedOf(const Experiment& experiment, const Trial& trial) {
  const v1::ExpandedTrial expanded = ExpandedOf(experiment, trial);
  if (experiment.resolved_paths.empty()) return Resolve(experiment.spec, expanded);
  const AllFields& all = TodaysFields();
  const bool program = spec::IsProgram(experiment.spec);
  const TodaysList& todays = TodaysListOf(program);
  const bool of_today = experiment.resolved_paths == todays.paths;
  StoredFields of_its_own;
  if (!of_today) {
    DT_ASSIGN_OR_RETURN(of_its_own, FindStored(experiment.resolved_paths));
  }
  const StoredFields& stored = of_today ? todays.stored : of_its_own;
  v1::Spec spec = experiment.resolved;
  if (of_today && !program && HasNoRuled(expanded)) {
    for (const size_t i : stored.others) CopyChanged(experiment.spec.base(), all.fields[i], spec);
  } else {
    CopyRuled(experiment, expanded, stored, spec);
  }
  for (const uint32_t place : expanded.differs()) {
    CopyChanged(expanded.resolved(), all.fields[stored.places[place]], spec);
  }
  return spec;
}

absl::StatusOr<v1::Spec> ResolvedForGang(const Experiment& experiment, const Trial& trial) {
  DT_ASSIGN_OR_RETURN(v1::Spec spec, ResolvedOf(experiment, trial));
  spec.mutable_resources()->set_gpus(static_cast<int32_t>(trial.attempts.back().members.size()));
  return spec;
}

}  // namespace dt
