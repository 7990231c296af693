#include "cli/remote/raw_terminal.h"

#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "cli/view/screen.h"

namespace dt::cli {
namespace {

constexpr std::array kFatal = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGABRT,
                               SIGSEGV, SIGBUS,  SIGFPE, SIGILL};
constexpr size_t kActions = kFatal.size() + 2;

// State for the handlers: plain values, set before they are installed.
struct HandlerState {
  int in_fd = -1;
  int out_fd = -1;
  termios before = {};
  std::array<struct sigaction, kActions> actions_before = {};
};
HandlerState taken;
volatile std::sig_atomic_t active = 0;
std::atomic<bool> stop_asked{false};
std::atomic<bool> continued{false};

// Both are async-signal-safe: they call only tcsetattr and write.
void WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(taken.out_fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
}
void Leave() {
  if (active == 0) return;
  active = 0;
  WriteAll(kLeaveScreen);
  // Input typed ahead stays for the shell.
  tcsetattr(taken.in_fd, TCSADRAIN, &taken.before);
}

void Enter() {
  termios raw = taken.before;
  // Ctrl-C and Ctrl-Z are plain keys. Output processing stays unchanged.
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL | INLCR | IGNCR | BRKINT | ISTRIP);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  active = 1;
  tcsetattr(taken.in_fd, TCSADRAIN, &raw);
  WriteAll(kEnterScreen);
}

void RestoreAndRaise(int number) {
  Leave();
  // With SA_RESETHAND and SA_NODEFER this ends the process as without a handler.
  raise(number);
}
void NoteStop(int) { stop_asked = true; }
void NoteContinue(int) { continued = true; }

void Catch(int number, void (*handler)(int), int flags, struct sigaction* before) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, before);
}

}  // namespace

RawTerminal::RawTerminal(int in_fd, int out_fd) {
  taken.in_fd = in_fd;
  taken.out_fd = out_fd;
  tcgetattr(in_fd, &taken.before);
  stop_asked = continued = false;
  size_t at = 0;
  for (const int number : kFatal) {
    Catch(number, RestoreAndRaise, static_cast<int>(SA_RESETHAND | SA_NODEFER),
          &taken.actions_before[at++]);
  }
  Catch(SIGTSTP, NoteStop, 0, &taken.actions_before[at++]);
  Catch(SIGCONT, NoteContinue, 0, &taken.actions_before[at++]);
  Enter();
}

RawTerminal::~RawTerminal() {
  Leave();
  size_t at = 0;
  for (const int number : kFatal) sigaction(number, &taken.actions_before[at++], nullptr);
  sigaction(SIGTSTP, &taken.actions_before[at++], nullptr);
  sigaction(SIGCONT, &taken.actions_before[at++], nullptr);
}

void RawTerminal::Suspend() {
  Leave();
  Catch(SIGTSTP, SIG_DFL, 0, nullptr);
  raise(SIGTSTP);
  // Continues here after SIGCONT, or at once where nobody could continue the process.
  Catch(SIGTSTP, NoteStop, 0, nullptr);
  continued = true;
}

bool RawTerminal::Continued() {
  if (stop_asked.exchange(false)) Suspend();
  if (!continued.exchange(false)) return false;
  Enter();
  return true;
}

std::string RawTerminal::Read() const {
  std::array<char, 256> bytes;
  const ssize_t count = read(taken.in_fd, bytes.data(), bytes.size());
  return count > 0 ? std::string(bytes.data(), static_cast<size_t>(count)) : "";
}

}  // namespace dt::cli
