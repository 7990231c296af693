// maker.h: the process that resolves or makes an environment for dtprogram, which goes on to serve
// its attempt meanwhile.
//
// Role:   dtprogram starts itself as `dtprogram --make-environment FILE` with the job in the file,
//         and reads one line of JSON from its output. If either of the two dies, the other's work
//         leaves nothing that counts as complete (store.h).
// Errors: in the answer.
// Tests:  tests/worker/environments/maker_test.cc
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "common/spawn.h"
#include "common/status.h"
#include "worker/environments/module.h"
#include "worker/environments/wanted.h"

namespace dt::environments {

// The flag that selects it.
inline constexpr char kMakeFlag[] = "--make-environment";
// Its descriptor of the environment's lock.
inline constexpr int kMakerLockFd = 3;

struct Job {
  Wanted wanted;
  std::string lock;   // the exact packages; "": resolve them, and make nothing. Of modules: ""
  std::string store;  // folder
  uint64_t bytes_max = 0;
  std::string scratch;  // folder
};
struct Answer {
  absl::Status status;  // as from the kind's header (kinds.h)
  std::string lock;     // the packages as resolved
  uint64_t packages = 0;
  bool made = false;  // now; otherwise it was there
  Loaded loaded;      // modules
};

std::string JobText(const Job& job);
// Does the job in this process. `lock_fd`: from Store::OpenLock.
Answer Do(const Job& job, const Environment& environment, int lock_fd);
std::string AnswerText(const Answer& answer);
// Reads an answer. A process that ended without one gives an IoError.
Answer ReadAnswer(const std::string& text);

// Runs the job of the file; returns the exit status.
int RunMaker(const std::string& job_file);

}  // namespace dt::environments
