// agent_fuzz.cc: any bytes as the actions of a trainer, the coordinator, users and time on a
// worker's agent. Whatever a trainer sends, the coordinator accepts each report, and the items that
// wait stay within their bounds.
//
// A trainer sends anything, about its attempt or another one, but only a running process sends. The
// stream and the coordinator follow their own rules.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "coordinator/rpc/report_check.h"
#include "spec/spec.h"
#include "worker/agent/agent.h"

namespace {

namespace v1 = ::dtrain::v1;

constexpr int kEventsMax = 300;
constexpr uint64_t kJournal = 7;

class World {
 public:
  explicit World(FuzzedDataProvider& bytes) : bytes_(bytes) {
    dt::AgentOptions options;
    v1::Hello& hello = options.hello;
    hello.set_worker("host/0");
    hello.set_instance(1);
    hello.set_host("host");
    hello.set_device("cpu");
    hello.set_storage_id("st");
    hello.set_data_address("127.0.0.1");
    options.trainer_path = "dttrain";
    options.program_path = "dtprogram";
    agent_ = dt::MakeAgent(std::move(options), now_);
  }

  void Run() {
    Feed(dt::TimePassed{});
    for (int i = 0; i < kEventsMax && !gone_ && bytes_.remaining_bytes() > 0; ++i) One();
  }

 private:
  uint32_t Pick(uint32_t most) { return bytes_.ConsumeIntegralInRange<uint32_t>(0, most); }
  std::string Text(size_t most) { return bytes_.ConsumeRandomLengthString(most); }

  void One() {
    switch (Pick(9)) {
      case 0:
        return Pass();
      case 1:
        return Stream();
      case 2:
      case 3:
        return Order();
      case 4:
      case 5:
      case 6:
      case 7:
        return Say();
      case 8:
        return End();
      default:
        return Tell();
    }
  }

  void Feed(dt::AgentEvent event) {
    for (dt::AgentAction& action : dt::AgentStep(agent_, std::move(event), now_)) {
      if (std::holds_alternative<dt::SpawnTrainer>(action)) {
        if (alive_) Complain("a second trainer is started");
        alive_ = true;
        said_ = false;
      } else if (const auto* report = std::get_if<dt::SendReport>(&action)) {
        Check(report->report);
      } else if (std::holds_alternative<dt::ExitProcess>(action)) {
        gone_ = true;
      }
    }
    if (agent_.buffer.Bytes() > dt::limits::kWorkerBufferBytes) Complain("its buffer is too large");
  }

  void Check(const v1::WorkerReport& report) {
    if (!connected_) Complain("a report without a stream");
    const auto place =
        report.has_hello() ? dt::ReportPlace::kFirstOfStream : dt::ReportPlace::kLater;
    const auto totals = dt::CheckReport(report, place);
    if (!totals.ok()) Complain(totals.status().ToString());
    if (!v1::WorkerReport().ParseFromString(report.SerializeAsString())) {
      Complain("a report that nobody can read");
    }
    in_flight_ = true;
  }

  static void Complain(const std::string& what) {
    std::fprintf(stderr, "violation: %s\n", what.c_str());
    std::abort();
  }

  void Pass() {
    const absl::Duration time = absl::Milliseconds(1 << Pick(17));
    now_.steady += time;
    now_.wall_ms += absl::ToInt64Milliseconds(time);
    Feed(dt::TimePassed{});
  }

  void Stream() {
    if (connected_ && in_flight_ && Pick(3) != 0) {
      in_flight_ = false;
      return Feed(dt::ReportWritten{agent_.session});
    }
    connected_ = !connected_;
    in_flight_ = false;
    if (connected_) return Feed(dt::StreamConnected{});
    Feed(dt::StreamLost{});
  }

  void Order() {
    if (!connected_) return;
    dt::OrdersReceived event;
    event.session = agent_.session;
    event.orders.set_journal_id(Pick(15) == 0 ? kJournal + 1 : kJournal);
    event.orders.set_acked_sequence(Pick(20));
    if (Pick(3) != 0) {
      v1::Assigned& assigned = *event.orders.mutable_attempt();
      const uint32_t attempt = 1 + Pick(2);
      assigned.set_experiment(1);
      assigned.set_trial(1);
      assigned.set_attempt(attempt);
      assigned.set_attempt_token(TokenOf(attempt).ToBytes());
      assigned.set_world_size(1 + static_cast<int32_t>(Pick(1)));
      assigned.set_rank(static_cast<int32_t>(Pick(1)) % assigned.world_size());
      *assigned.mutable_spec() = dt::spec::DefaultSpec();
      if (Pick(3) == 0) assigned.mutable_spec()->set_run("true");
      if (Pick(3) == 0) assigned.mutable_code()->set_digest(std::string(64, 'a'));
      if (Pick(3) == 0) assigned.set_store_address("127.0.0.1:9");
      assigned.set_abandon(Pick(7) == 0);
    }
    if (Pick(7) == 0) event.orders.add_unknown_tokens(TokenOf(1 + Pick(2)).ToBytes());
    Feed(std::move(event));
  }

  static dt::AttemptToken TokenOf(uint32_t attempt) {
    dt::AttemptToken token;
    token.bytes.fill(static_cast<uint8_t>(attempt));
    return token;
  }

  // Sends a trainer's line: one of its frames, with fields from the bytes, or any text.
  void Say() {
    if (!alive_) return;
    said_ = true;
    constexpr const char* kTypes[] = {
        "hello", "idle",       "prepared",           "store", "running", "step", "progress",
        "eval",  "checkpoint", "checkpoint_removed", "end"};
    std::string line;
    if (Pick(15) == 0) {
      line = Text(200);
    } else {
      line = absl::StrCat(R"({"type":")", kTypes[Pick(std::size(kTypes) - 1)], R"(","token":")",
                          TokenOf(1 + Pick(2)).ToHex(), "\"");
      const uint32_t step = Pick(60);
      absl::StrAppend(&line, R"(,"step":)", step, R"(,"target_steps":)", step, R"(,"row":{"step":)",
                      step, "}");
      if (Pick(1) == 0) absl::StrAppend(&line, ",", Text(100));
      line += "}";
    }
    const auto read = dt::frames::ParseFromTrainer(line);
    if (const auto* wrong = std::get_if<dt::frames::InvalidFrame>(&read)) {
      return Feed(dt::TrainerMisbehaved{wrong->reason});
    }
    Feed(dt::FrameReceived{std::get<dt::frames::FromTrainer>(read)});
  }

  void End() {
    if (!alive_) return;
    alive_ = false;
    if (!said_ && Pick(7) == 0) return Feed(dt::TrainerStartFailed{Text(20)});
    Feed(dt::TrainerExited{static_cast<int>(Pick(255) << 8 | Pick(15)),
                           Pick(3) == 0 ? dt::OomEvidence::kCgroupKill : dt::OomEvidence::kNone});
  }

  void Tell() {
    const dt::AttemptToken token = TokenOf(1 + Pick(2));
    switch (Pick(5)) {
      case 0: {
        dt::LogLines lines;
        for (uint32_t i = Pick(3); i > 0; --i) lines.lines.push_back(Text(100));
        lines.dropped = Pick(3);
        lines.pipe = Pick(1) == 0 ? dt::LogPipe::kOutput : dt::LogPipe::kErrors;
        return Feed(std::move(lines));
      }
      case 1:
        return Feed(dt::CodeReady{token, "/code"});
      case 2:
        return Feed(dt::CodeFailed{token, Text(20)});
      case 3: {
        dt::CheckpointsGone gone{token, {}};
        gone.gone.emplace_back().set_step(Pick(60));
        return Feed(std::move(gone));
      }
      default:
        if (Pick(7) == 0) Feed(dt::Terminate{});
    }
  }

  FuzzedDataProvider& bytes_;
  dt::Instant now_{absl::Seconds(1000), 1'000'000};
  dt::AgentState agent_;
  bool alive_ = false;      // the trainer runs
  bool said_ = false;       // the trainer has sent something since its start
  bool connected_ = false;  // the stream is open
  bool in_flight_ = false;  // a report is on the stream
  bool gone_ = false;       // the worker is gone
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  World(bytes).Run();
  return 0;
}
