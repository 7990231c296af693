// manual.cc: prints the manual's tables of fields from the field tables.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/internal.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

std::string Section(const std::string& path) {
  const size_t dot = path.find('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

// Returns "; `fsdp` is `zero3`".
std::string Synonyms(const Field& field) {
  std::string text;
  for (const auto& [word, choice] : field.synonyms) {
    absl::StrAppend(&text, "; `", word, "` is `", choice, "`");
  }
  return text;
}

std::string Kind(const Field& field) {
  const std::string range = RangeText(field);
  switch (field.type) {
    case FieldType::kInteger:
      return absl::StrCat("integer", range.empty() ? "" : ", ", range);
    case FieldType::kNumber:
      return absl::StrCat("number", range.empty() ? "" : ", ", range);
    case FieldType::kText:
      return "text";
    case FieldType::kFlag:
      return "`true` or `false`";
    case FieldType::kChoice:
      return absl::StrCat("`", absl::StrJoin(field.choices, "`, `"), "`",
                          field.open ? ", or a name" : "", Synonyms(field));
    case FieldType::kNumbers:
      return absl::StrCat("list of ", field.count, " numbers, each ", range);
    case FieldType::kTexts:
      return field.one_text ? "text, or list of texts" : "list of texts";
    case FieldType::kEvery:
      return absl::StrCat("steps, or a time ", range);
    case FieldType::kDuration:
      return absl::StrCat("time, ", range);
    case FieldType::kLabels:
      return "map of text";
  }
  return "";
}

std::string Default(const Field& field) {
  switch (field.default_kind) {
    case DefaultKind::kFixed:
      return absl::StrCat("`", field.default_text, "`");
    case DefaultKind::kDependent:
      return field.default_text;
    case DefaultKind::kNone:
      return "none";
    case DefaultKind::kRequired:
      return "**required**";
  }
  return "";
}

std::string RowOf(const Field& field) {
  std::string help = field.help;
  if (!field.later.empty()) {
    absl::StrAppend(&help, " Not yet available: `", absl::StrJoin(field.later, "`, `"), "`.");
  }
  if (!field.sweepable && FindField(field.path) != nullptr) help += " Not in `parameters`.";
  return absl::StrCat("| `", field.path, "` | ", Kind(field), " | ", Default(field), " | ", help,
                      " |\n");
}

}  // namespace

std::string ManualTable() {
  std::string out;
  const std::string head = "| field | value | default | meaning |\n|---|---|---|---|\n";
  std::string section = "none yet";
  for (const auto* table : {&ExperimentFieldTable(), &FieldTable()}) {
    for (const Field& field : *table) {
      if (Section(field.path) != section) {
        section = Section(field.path);
        const bool top = section.empty();
        absl::StrAppend(
            &out, out.empty() ? "" : "\n", "### ",
            top ? (table == &FieldTable() ? "A program, and the seed" : "The experiment")
                : absl::StrCat("`", section, "`"),
            "\n\n", head);
      }
      out += RowOf(field);
    }
  }
  absl::StrAppend(&out, "\n### Words kept for later\n\n`", absl::StrJoin(ReservedPaths(), "`, `"),
                  "`: refused by name as not yet available.\n");
  return out;
}

}  // namespace dt::spec
