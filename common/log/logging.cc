// logging.cc: three log sinks with the same interface.
#include "common/log/logging.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/text.h"
#include "nlohmann/json.hpp"
#include "spdlog/async.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

// Formats the message as a JSON string, quotes included; bytes that are not UTF-8 are replaced.
class JsonText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const nlohmann::json text = std::string(message.payload.data(), message.payload.size());
    const std::string quoted = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(quoted.data(), quoted.data() + quoted.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonText>();
  }
};

// Formats the message as one line, whatever a client or a trainer put into it.
class OneLine final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string line = Printable({message.payload.data(), message.payload.size()});
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<OneLine>();
  }
};

// Writes "<6>" and the like, which journald reads as the line's priority.
class JournalPriority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string prefix = PrefixOf(message.level);
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalPriority>();
  }

 private:
  static std::string PrefixOf(spdlog::level::level_enum level) {
    if (level >= spdlog::level::critical) return "<2>";
    if (level == spdlog::level::err) return "<3>";
    if (level == spdlog::level::warn) return "<4>";
    if (level == spdlog::level::info) return "<6>";
    return "<7>";
  }
};

// Returns the notification that fires when everything logged before FinishLogging's flush is
// written.
absl::Notification& AllWritten() {
  static auto& written = *new absl::Notification;
  return written;
}

// Sits beside the writing sink and is flushed after it.
class TellsWhenWritten final : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg&) override {}
  void flush() override {
    if (!AllWritten().HasBeenNotified()) AllWritten().Notify();
  }
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}
};

// A process that must end at once waits no longer than this for a slow reader of its stderr.
constexpr absl::Duration kWritten = absl::Seconds(2);
// Beyond this many waiting lines the oldest are dropped.
constexpr size_t kLinesWaiting = 8192;

std::shared_ptr<spdlog::logger> MakeLogger(spdlog::sink_ptr sink) {
  const std::vector<spdlog::sink_ptr> sinks = {std::move(sink),
                                               std::make_shared<TellsWhenWritten>()};
  return std::make_shared<spdlog::async_logger>("dtrain", sinks.begin(), sinks.end(),
                                                spdlog::thread_pool(),
                                                spdlog::async_overflow_policy::overrun_oldest);
}

}  // namespace

void SetUpLogging() {
  // A thread of its own writes, so that a slow reader of stderr holds up no loop.
  spdlog::init_thread_pool(kLinesWaiting, 1);
  const bool terminal = isatty(STDERR_FILENO) == 1;
  auto logger = terminal ? MakeLogger(std::make_shared<spdlog::sinks::stderr_color_sink_mt>())
                         : MakeLogger(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JsonText>('J').add_flag<JournalPriority>('Q').add_flag<OneLine>('K');
  const char* pattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%J})";
  // systemd sets this variable when stderr goes to its journal.
  if (std::getenv("JOURNAL_STREAM") != nullptr) pattern = "%Q%K";
  if (terminal) pattern = "%H:%M:%S %^%l%$ %K";
  formatter->set_pattern(pattern);
  logger->set_formatter(std::move(formatter));
  spdlog::set_default_logger(std::move(logger));
}

void FinishLogging() {
  // Keep logger and thread for threads that still run: spdlog::shutdown() would take both away, and
  // a line without arguments then throws.
  spdlog::default_logger_raw()->set_level(spdlog::level::off);
  spdlog::default_logger_raw()->flush();
  AllWritten().WaitForNotificationWithTimeout(kWritten);
}

}  // namespace dt
