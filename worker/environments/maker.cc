// maker.cc: see maker.h.
#include "worker/environments/maker.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "worker/environments/conda.h"
#include "worker/environments/image.h"
#include "worker/environments/kinds.h"
#include "worker/environments/store.h"
#include "worker/environments/tools.h"
#include "worker/environments/uv.h"

namespace dt::environments {
namespace {

using nlohmann::json;

constexpr uint64_t kJobBytes = 1 << 20;

absl::StatusOr<Job> ReadJob(const std::string& file) {
  DT_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kJobBytes));
  const json job = json::parse(text, nullptr, false);
  if (!job.is_object()) return IoError(file + " holds no job");
  Job read;
  try {
    read.wanted = {.python = job.at("python"),
                   .uv = job.at("uv"),
                   .index = job.at("index"),
                   .code_folder = job.at("code_folder"),
                   .image = job.at("image"),
                   .conda = job.at("conda"),
                   .modules = job.at("modules")};
    read.lock = job.at("lock");
    read.store = job.at("store");
    read.bytes_max = job.at("bytes_max");
    read.scratch = job.at("scratch");
  } catch (const json::exception& error) {
    return IoError(absl::StrCat(file, ": ", error.what()));
  }
  return read;
}

// The tool of the job's kind, as the kind's functions take it.
struct Tool {
  const Job& job;
  const Environment& environment;
  const Store& store;

  std::string Path() const {
    switch (KindOf(job.wanted)) {
      case Kind::kUv:
        return FindTool("uv", environment);
      case Kind::kImage:
        return FindRuntime(environment);
      case Kind::kConda:
        return FindConda(environment);
      case Kind::kModule:
        return FindTool("bash", environment);
    }
    return "";
  }
  Uv OfUv() const {
    return {
        .path = Path(), .cache = store.cache(), .scratch = job.scratch, .environment = environment};
  }
  Conda OfConda() const {
    return {.path = Path(),
            .cache = store.conda_cache(),
            .scratch = job.scratch,
            .environment = environment};
  }
  Images OfImages() const {
    return {.path = Path(), .store = job.store, .scratch = job.scratch, .environment = environment};
  }
};

absl::StatusOr<std::string> ResolveWith(const Tool& tool) {
  const Wanted& wanted = tool.job.wanted;
  DT_ASSIGN_OR_RETURN(const UniqueFd cache_in_use, tool.store.ShareCache());
  switch (KindOf(wanted)) {
    case Kind::kUv:
      return Resolve(wanted, tool.OfUv());
    case Kind::kImage:
      return ResolveImage(wanted, tool.OfImages());
    case Kind::kConda:
      return ResolveConda(wanted, tool.OfConda());
    case Kind::kModule:
      break;
  }
  return "";
}

absl::Status MakeWith(const Tool& tool, const std::string& folder, int lock_fd) {
  const Job& job = tool.job;
  switch (KindOf(job.wanted)) {
    case Kind::kUv:
      return Make(job.wanted, job.lock, tool.OfUv(), folder, lock_fd);
    case Kind::kImage:
      return MakeImage(job.lock, tool.OfImages(), folder, lock_fd);
    case Kind::kConda:
      return MakeConda(job.lock, tool.OfConda(), folder, lock_fd);
    case Kind::kModule:
      break;
  }
  return absl::OkStatus();
}

absl::StatusOr<Answer> Try(const Job& job, const Environment& environment, int lock_fd) {
  Answer answer;
  answer.lock = job.lock;
  const Store store(job.store, job.bytes_max);
  const Tool tool{job, environment, store};
  if (tool.Path().empty()) {
    return IoError("the tool for this environment is not installed on this host any more");
  }
  if (!IsResolved(job.wanted)) {
    DT_ASSIGN_OR_RETURN(answer.loaded, LoadModules(job.wanted.modules, job.scratch, environment));
  } else if (job.lock.empty()) {
    DT_ASSIGN_OR_RETURN(answer.lock, ResolveWith(tool));
  } else {
    DT_ASSIGN_OR_RETURN(const std::string name, StoreName(job.wanted, job.lock));
    // The number is the caller's, and stays open.
    UniqueFd lock(lock_fd);
    const absl::StatusOr<bool> made = store.Claim(
        name, lock, [&](const std::string& folder) { return MakeWith(tool, folder, lock_fd); });
    lock.Release();
    if (!made.ok()) return made.status();
    answer.made = *made;
  }
  answer.packages = SizeOf(job.wanted, answer.lock);
  return answer;
}

}  // namespace

std::string JobText(const Job& job) {
  return json{{"python", job.wanted.python},
              {"uv", job.wanted.uv},
              {"index", job.wanted.index},
              {"code_folder", job.wanted.code_folder},
              {"image", job.wanted.image},
              {"conda", job.wanted.conda},
              {"modules", job.wanted.modules},
              {"lock", job.lock},
              {"store", job.store},
              {"bytes_max", job.bytes_max},
              {"scratch", job.scratch}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Answer Do(const Job& job, const Environment& environment, int lock_fd) {
  absl::StatusOr<Answer> answer = Try(job, environment, lock_fd);
  if (answer.ok()) return *std::move(answer);
  // A tool keeps the files that it loaded. Without a success, nothing else removes them.
  Store(job.store, job.bytes_max).Evict();
  Answer failed;
  failed.status = answer.status();
  return failed;
}

std::string AnswerText(const Answer& answer) {
  return json{{"code", static_cast<int>(answer.status.code())},
              {"message", std::string(answer.status.message())},
              {"lock", answer.lock},
              {"packages", answer.packages},
              {"made", answer.made},
              {"before", answer.loaded.before},
              {"after", answer.loaded.after}}
             .dump(-1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

Answer ReadAnswer(const std::string& text) {
  const json said = json::parse(text, nullptr, false);
  Answer answer;
  try {
    const std::string message = said.at("message");
    answer.status =
        absl::Status(static_cast<absl::StatusCode>(said.at("code").get<int>()), message);
    answer.lock = said.at("lock");
    answer.packages = said.at("packages");
    answer.made = said.at("made");
    answer.loaded = {.before = said.at("before"), .after = said.at("after")};
  } catch (const json::exception&) {
    answer = Answer();
    answer.status = IoError("the process that makes the environment ended without an answer");
  }
  return answer;
}

int RunMaker(const std::string& job_file) {
  const absl::StatusOr<Job> job = ReadJob(job_file);
  Answer answer;
  if (job.ok()) {
    answer = Do(*job, EnvironmentWith({}), kMakerLockFd);
  } else {
    answer.status = job.status();
  }
  std::fputs(AnswerText(answer).c_str(), stdout);
  return FlushStandardOutput().ok() ? 0 : 1;
}

}  // namespace dt::environments
