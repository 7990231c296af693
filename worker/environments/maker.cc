// maker.cc: see maker.h.
#include "worker/environments/maker.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "worker/environments/store.h"
#include "worker/environments/tools.h"

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
                   .code_folder = job.at("code_folder")};
    read.lock = job.at("lock");
    read.store = job.at("store");
    read.bytes_max = job.at("bytes_max");
    read.scratch = job.at("scratch");
  } catch (const json::exception& error) {
    return IoError(absl::StrCat(file, ": ", error.what()));
  }
  return read;
}

absl::StatusOr<Answer> Try(const Job& job, const Environment& environment, int lock_fd) {
  Answer answer;
  answer.lock = job.lock;
  const Store store(job.store, job.bytes_max);
  const Uv uv{.path = FindTool("uv", environment),
              .cache = store.cache(),
              .scratch = job.scratch,
              .environment = environment};
  if (uv.path.empty()) return IoError("uv is not installed on this host any more");
  if (job.lock.empty()) {
    DT_ASSIGN_OR_RETURN(const UniqueFd cache_in_use, store.ShareCache());
    DT_ASSIGN_OR_RETURN(answer.lock, Resolve(job.wanted, uv));
  } else {
    DT_ASSIGN_OR_RETURN(const std::string name, NameOf(job.wanted, job.lock));
    // The number is the caller's, and stays open.
    UniqueFd lock(lock_fd);
    const absl::StatusOr<bool> made = store.Claim(name, lock, [&](const std::string& folder) {
      return Make(job.wanted, job.lock, uv, folder, lock_fd);
    });
    lock.Release();
    if (!made.ok()) return made.status();
    answer.made = *made;
  }
  answer.packages = PackagesIn(answer.lock);
  return answer;
}

}  // namespace

std::string JobText(const Job& job) {
  return json{{"python", job.wanted.python},
              {"uv", job.wanted.uv},
              {"index", job.wanted.index},
              {"code_folder", job.wanted.code_folder},
              {"lock", job.lock},
              {"store", job.store},
              {"bytes_max", job.bytes_max},
              {"scratch", job.scratch}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Answer Do(const Job& job, const Environment& environment, int lock_fd) {
  absl::StatusOr<Answer> answer = Try(job, environment, lock_fd);
  if (answer.ok()) return *std::move(answer);
  // uv keeps the files that it loaded. Without a success, nothing else removes them.
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
              {"made", answer.made}}
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
