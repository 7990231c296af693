// tracked_conversation.cc: converts frames to JSON lines and events.
#include "worker/trainer/tracking/tracked_conversation.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "spec/table/training_seconds.h"
#include "worker/trainer/tracking/event_records.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kSchema = 1;  // version of metrics.jsonl; adding a field does not raise it
constexpr std::chrono::seconds kFlushEvery{1};
// Limit on a line: the frames from which lines are made are bounded, so a longer line is not ours.
constexpr size_t kLineBytes = 2 * frames::kFrameBytes;

int64_t WallMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}
double WallSeconds() { return static_cast<double>(WallMs()) / 1000; }

double NumberOf(const json& value) { return value.is_null() ? NAN : value.get<double>(); }

std::string TagOf(const std::string& name) {
  const auto ends = [&](std::string_view end) {
    return name.size() > end.size() && name.ends_with(end);
  };
  if (ends("_seconds")) return "time/" + name;
  if (name.starts_with("allreduce_")) return "communication/" + name;
  if (name.starts_with("memory_")) return "memory/" + name;
  return "train/" + name;
}

Scalars ScalarsOfStep(const json& row) {
  // Fields that make no useful chart.
  constexpr std::array<std::string_view, 5> kLeftOut = {"step", "steps", "tokens", "seconds",
                                                        "wall_time_ms"};
  Scalars scalars;
  for (const auto& [name, value] : row.items()) {
    const bool left_out = std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end();
    if (left_out || !(value.is_number() || value.is_null())) continue;
    scalars.emplace_back(TagOf(name), NumberOf(value));
  }
  for (const json& each : row.value("collectives", json::array())) {
    const std::string way = "communication/" + each.value("op", "") + "_" + each.value("axis", "");
    for (const char* measure : {"seconds", "exposed_seconds", "bytes"}) {
      scalars.emplace_back(way + "_" + measure, each.value(measure, 0.0));
    }
  }
  const double seconds =
      spec::TrainingSeconds(row.value("seconds", 0.0), row.value("eval_seconds", 0.0),
                            row.value("checkpoint_seconds", 0.0));
  if (seconds > 0) {
    scalars.emplace_back("speed/tokens_per_second", row.value("tokens", 0.0) / seconds);
  }
  return scalars;
}

Scalars ScalarsOfEvaluation(const json& evaluation) {
  const std::string prefix = evaluation.value("split", "val") + "/";
  Scalars scalars;
  for (const auto& [name, value] : evaluation.items()) {
    if (name == "step" || name == "tokens" || name == "seconds") continue;
    if (!value.is_number() && !value.is_null()) continue;
    scalars.emplace_back(prefix + name, NumberOf(value));
    if (name == "loss") scalars.emplace_back(prefix + "perplexity", std::exp(NumberOf(value)));
  }
  return scalars;
}

// Converts text like "128" to a number too: protobuf's JSON writes 64-bit integers as strings.
Setting SettingOf(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>();
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0') return number;
  return text;
}

// Adds every setting under its path, which starts with `prefix`. TensorBoard shows which settings
// differ.
void AddSettings(const json& section, const std::string& prefix,
                 std::vector<std::pair<std::string, Setting>>& settings) {
  for (const auto& [name, value] : section.items()) {
    const std::string path = prefix + name;
    if (value.is_object()) {
      AddSettings(value, path + ".", settings);
    } else {
      settings.emplace_back(path, SettingOf(value));
    }
  }
}

// Returns whether the line is ours and of a step up to `step`.
bool Stays(const json& line, uint64_t step) {
  if (!line.is_object()) return false;
  const auto found = line.find("step");
  return found != line.end() && found->is_number_unsigned() && found->get<uint64_t>() <= step;
}

bool IsRow(const json& line) {
  const auto found = line.find("type");
  return found != line.end() && *found == "step";
}

struct KeptLines {
  OutputFile file;
  uint64_t newest_row = 0;  // its step; 0: there is none
};

// Copies the lines that stay.
absl::StatusOr<KeptLines> KeepLines(const std::string& path, uint64_t step) {
  const std::string kept = path + ".tmp";
  DT_ASSIGN_OR_RETURN(OutputFile out, OutputFile::Create(kept));
  uint64_t newest_row = 0;
  std::ifstream in(path, std::ios::binary);
  std::string buffer(kLineBytes, '\0');
  while (!in.eof()) {
    in.getline(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    if (in.eof() || in.bad()) break;  // a line without an end is incomplete
    if (in.fail()) {
      in.clear();  // too long
      in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
      continue;
    }
    std::string line(buffer.data(), static_cast<size_t>(in.gcount()) - 1);
    const json parsed = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!Stays(parsed, step)) continue;
    if (IsRow(parsed)) newest_row = std::max(newest_row, parsed["step"].get<uint64_t>());
    line += '\n';
    DT_RETURN_IF_ERROR(out.Append(line.data(), line.size()));
  }
  DT_RETURN_IF_ERROR(Rename(kept, path));  // the open descriptor stays valid
  return KeptLines{std::move(out), newest_row};
}

std::string EventFileName() {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  static int number = 0;  // two attempts of one process may begin within a second
  return "events.out.tfevents." + std::to_string(WallMs() / 1000) + "." + host + "." +
         std::to_string(getpid()) + "." + std::to_string(number++);
}

}  // namespace

TrackedConversation::TrackedConversation(const frames::Start& start, Conversation& inner)
    : start_(start),
      inner_(inner),
      folder_(start.storage + "/" + std::to_string(start.experiment) + "/" +
              std::to_string(start.trial)) {}

TrackedConversation::~TrackedConversation() {
  if (tracking_) (void)Flush();  // an error was already reported
}

void TrackedConversation::Say(const frames::FromTrainer& frame) {
  absl::Status tracked = [&]() -> absl::Status {
    try {
      return Track(frame);
    } catch (const json::exception& bad) {
      return IoError(bad.what());  // training goes on
    }
  }();
  if (!tracked.ok()) {
    tracking_ = false;
    std::fprintf(stderr, "%s and the event file are not written any more: %s\n",
                 (folder_ + "/metrics.jsonl").c_str(), std::string(tracked.message()).c_str());
  }
  inner_.Say(frame);
}

void TrackedConversation::SayMissing(const std::vector<frames::StepDone>& rows, uint64_t after) {
  const absl::Status added = [&]() -> absl::Status {
    try {
      return AddMissing(rows);
    } catch (const json::exception& bad) {
      return IoError(bad.what());
    }
  }();
  if (!added.ok()) {
    std::fprintf(stderr, "%s/metrics.jsonl lacks the newest rows: %s\n", folder_.c_str(),
                 std::string(added.message()).c_str());
  }
  inner_.SayMissing(rows, after);
}

absl::Status TrackedConversation::AddMissing(const std::vector<frames::StepDone>& rows) {
  const std::string path = folder_ + "/metrics.jsonl";
  if (start_.rank == 0 || start_.storage.empty() || !std::filesystem::exists(path)) {
    return absl::OkStatus();
  }
  // Rank 0 may have died within a line.
  DT_ASSIGN_OR_RETURN(KeptLines kept, KeepLines(path, std::numeric_limits<uint64_t>::max()));
  lines_ = std::move(kept.file);
  for (const frames::StepDone& row : rows) {
    if (row.row.value("step", uint64_t{0}) > kept.newest_row) DT_RETURN_IF_ERROR(Step(row.row));
  }
  DT_RETURN_IF_ERROR(Flush());
  lines_.reset();
  return absl::OkStatus();
}

absl::Status TrackedConversation::Track(const frames::FromTrainer& frame) {
  if (const auto* running = std::get_if<frames::Running>(&frame)) {
    return Begin(running->resumed_step);
  }
  if (!tracking_) return absl::OkStatus();
  if (const auto* done = std::get_if<frames::StepDone>(&frame)) return Step(done->row);
  if (std::holds_alternative<frames::Eval>(frame)) return Evaluated(frame);
  if (const auto* end = std::get_if<frames::End>(&frame)) return End(*end);
  // From now on a resume may start at this checkpoint, and needs all earlier lines.
  if (std::holds_alternative<frames::CheckpointDone>(frame)) return Flush();
  return absl::OkStatus();
}

absl::Status TrackedConversation::Begin(uint64_t resumed_step) {
  if (start_.rank != 0 || start_.storage.empty()) return absl::OkStatus();
  DT_ASSIGN_OR_RETURN(const TrialSpec spec, ParseTrialSpec(start_.spec));
  if (!spec.logging_jsonl && !spec.logging_tensorboard) return absl::OkStatus();
  DT_RETURN_IF_ERROR(MakeFolders(folder_));
  const double now = WallSeconds();
  if (spec.logging_jsonl) {
    if (start_.resume) {
      DT_ASSIGN_OR_RETURN(KeptLines kept, KeepLines(folder_ + "/metrics.jsonl", resumed_step));
      lines_ = std::move(kept.file);
    } else {
      DT_ASSIGN_OR_RETURN(lines_, OutputFile::Create(folder_ + "/metrics.jsonl"));
    }
  }
  std::string record =
      VersionRecord(now) + RestartRecord(now, static_cast<int64_t>(resumed_step) + 1);
  if (spec.logging_tensorboard) {
    DT_ASSIGN_OR_RETURN(events_, OutputFile::Create(folder_ + "/" + EventFileName()));
    std::vector<std::pair<std::string, Setting>> settings;
    AddSettings(start_.spec, "", settings);
    const std::string trial =
        std::to_string(start_.experiment) + "/" + std::to_string(start_.trial);
    record += SettingsRecord(now, trial, settings);
  }
  tracking_ = true;
  DT_RETURN_IF_ERROR(Write({{"type", "start"},
                            {"step", resumed_step},
                            {"experiment", start_.experiment},
                            {"trial", start_.trial},
                            {"world_size", start_.world_size},
                            {"wall_time_ms", WallMs()},
                            {"spec", start_.spec}},
                           record));
  return Flush();
}

absl::Status TrackedConversation::Step(const json& row) {
  const int64_t step = row.value("step", int64_t{0});
  json line = row;
  line["type"] = "step";
  const double wall_seconds = row.value("wall_time_ms", 0.0) / 1000;
  return Write(std::move(line), ScalarsRecord(wall_seconds, step, ScalarsOfStep(row)));
}

absl::Status TrackedConversation::Evaluated(const frames::FromTrainer& frame) {
  json line = json::parse(frames::ToLine(frame), nullptr, /*allow_exceptions=*/false);
  line.erase("token");
  const int64_t step = line.value("step", int64_t{0});
  const std::string record = ScalarsRecord(WallSeconds(), step, ScalarsOfEvaluation(line));
  line["wall_time_ms"] = WallMs();
  return Write(std::move(line), record);
}

absl::Status TrackedConversation::End(const frames::End& end) {
  const bool finished = end.cause == "finished";
  DT_RETURN_IF_ERROR(
      Write({{"type", "end"},
             {"step", end.step},
             {"cause", end.cause},
             {"message", end.message},
             {"wall_time_ms", WallMs()}},
            EndRecord(WallSeconds(), finished ? EndStatus::kSuccess : EndStatus::kFailure)));
  DT_RETURN_IF_ERROR(Flush());
  tracking_ = false;
  return absl::OkStatus();
}

absl::Status TrackedConversation::Write(json line, const std::string& record) {
  line["schema"] = kSchema;
  line["attempt"] = start_.attempt;
  if (lines_) {
    pending_lines_ += line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  if (events_) pending_events_ += record;
  if (Clock::now() - flushed_ < kFlushEvery) return absl::OkStatus();
  return Flush();
}

absl::Status TrackedConversation::Flush() {
  flushed_ = Clock::now();
  if (lines_ && !pending_lines_.empty()) {
    DT_RETURN_IF_ERROR(lines_->Append(pending_lines_.data(), pending_lines_.size()));
  }
  if (events_ && !pending_events_.empty()) {
    DT_RETURN_IF_ERROR(events_->Append(pending_events_.data(), pending_events_.size()));
  }
  pending_lines_.clear();
  pending_events_.clear();
  return absl::OkStatus();
}

}  // namespace dt::trainer
