// main.cc: the process of dtctl: streams, Ctrl-C, the terminal. Everything else is in app.cc.
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/remote/interrupt.h"
#include "cli/view/output.h"
#include "cli/view/terminal.h"

namespace {

// Set once, before the handler is installed. Lives as long as the process.
dt::cli::Interrupt* interrupt = nullptr;

void TriggerInterrupt(int) { interrupt->Trigger(); }

// Installs the handler. The first Ctrl-C interrupts, the second ends the process (SA_RESETHAND). A
// blocked read ends too (no SA_RESTART).
void CatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = TriggerInterrupt;
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
}

dt::cli::TerminalSize SizeOfTerminal() {
  winsize size = {};
  dt::cli::TerminalSize result;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    result.columns = size.ws_col;
    result.rows = size.ws_row;
  }
  return result;
}

std::string OwnFolder() {
  std::error_code code;
  return std::filesystem::read_symlink("/proc/self/exe", code).parent_path().string();
}

std::string Environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  interrupt = new dt::cli::Interrupt();
  CatchInterrupt();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit fails instead
  std::ios::sync_with_stdio(false);
  // Silences gRPC's own log lines. Errors come back as a status.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  dt::cli::Terminal terminal;
  dt::cli::OutputBuffer buffer(STDOUT_FILENO);
  std::ostream out(&buffer);
  terminal.out = &out;
  terminal.out_error = [&buffer] { return buffer.error(); };
  terminal.err = &std::cerr;
  terminal.in = &std::cin;
  terminal.in_fd = STDIN_FILENO;
  terminal.out_fd = STDOUT_FILENO;
  terminal.out_is_tty = isatty(STDOUT_FILENO) == 1;
  terminal.err_is_tty = isatty(STDERR_FILENO) == 1;
  terminal.in_is_tty = isatty(STDIN_FILENO) == 1;
  terminal.environment = Environment;
  terminal.size = SizeOfTerminal;
  terminal.programs = OwnFolder();
  return dt::cli::Run(std::vector<std::string>(argv + 1, argv + argc), terminal, *interrupt,
                      dt::cli::Pace());
}
