// main.cc: the program dttrain of packages with static programs: starts the dttrain-2.N beside it
// that goes with the installed PyTorch, with the same arguments.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "worker/starter/torch_choice.h"

namespace {

constexpr int kNoTrainer = 69;  // EX_UNAVAILABLE of sysexits.h

[[noreturn]] void Refuse(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(kNoTrainer);
}

}  // namespace

int main(int, char** argv) {
  const std::optional<dt::TrainerChoice> choice = dt::TrainerStartedBy("/proc/self/exe");
  if (!choice) {
    Refuse(
        "there is no dttrain-2.N beside this program, which only starts one; install dtrain anew");
  }
  if (choice->program.empty()) Refuse(choice->fault);
  setenv("LD_LIBRARY_PATH", dt::LibraryPathFor(*choice).c_str(), 1);
  execv(choice->program.c_str(), argv);
  Refuse("cannot start " + choice->program + ": " + std::strerror(errno));
}
