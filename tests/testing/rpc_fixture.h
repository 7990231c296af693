// rpc_fixture.h: the gRPC side over real sockets, with a scripted core behind the mailbox.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/net/grpc_settings.h"
#include "coordinator/rpc/server.h"
#include "dtrain/v1/control.grpc.pb.h"
#include "dtrain/v1/fleet.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {

inline constexpr absl::Duration kPatience = absl::Seconds(20);

inline void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoSeconds(kPatience));
}

// A clock whose wall time a test sets while calls are answered.
class ProcessClock final : public Clock {
 public:
  Instant Now() const override {
    return {absl::Seconds(1000) + absl::Milliseconds(steady_ms.load()), wall_ms};
  }
  std::atomic<int64_t> steady_ms{0};
  std::atomic<int64_t> wall_ms{1'700'000'000'000};
};

class FakeReader final : public StoreReader {
 public:
  absl::StatusOr<v1::ReadMetricsResponse> ReadMetrics(
      const v1::ReadMetricsRequest& request) override {
    v1::ReadMetricsResponse response;
    response.add_rows()->set_trial(static_cast<uint32_t>(request.experiment()));
    return response;
  }
  absl::StatusOr<v1::ReadLogsResponse> ReadLogs(const v1::ReadLogsRequest&) override {
    return absl::InvalidArgumentError("no such page");
  }
};

// Takes the place of the core loop: answers events with a function of the test, on one thread.
class ScriptedCore {
 public:
  using Script = std::function<void(Event&, Publisher&)>;

  ScriptedCore(Mailbox<Event>& mailbox, Publisher& publisher, Script script)
      : mailbox_(mailbox), thread_([this, &publisher, script = std::move(script)] {
          while (true) {
            std::vector<Event> events = mailbox_.Drain(16, kPatience);
            if (events.empty() && mailbox_.Closed()) return;
            size_t bytes = 0;
            for (const Event& event : events) bytes += event.bytes;
            publisher.ResumeReads(bytes);
            for (Event& event : events) script(event, publisher);
          }
        }) {}
  ~ScriptedCore() {
    mailbox_.Close();
    thread_.join();
  }

 private:
  Mailbox<Event>& mailbox_;
  std::thread thread_;
};

// A list of the events that the scripted core saw, in order; the test's thread waits for them.
class Seen {
 public:
  void Add(const std::string& what) {
    MutexLock lock(&mutex_);
    seen_.push_back(what);
    changed_.NotifyAll();
  }
  std::vector<std::string> WaitFor(size_t count) {
    const absl::Time deadline = absl::Now() + kPatience;
    MutexLock lock(&mutex_);
    while (seen_.size() < count && absl::Now() < deadline) {
      changed_.WaitFor(&mutex_, deadline - absl::Now());
    }
    return seen_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> seen_ ABSL_GUARDED_BY(mutex_);
};

class RpcTest : public ::testing::Test {
 protected:
  void TearDown() override {
    core_.reset();
    reader_thread_.Stop();
    code_->Stop();
    if (server_ != nullptr) server_->Shutdown();
  }

  absl::Status TryServe(const std::string& listen, const TlsFiles& tls = {}) {
    ServerOptions options;
    options.listen = listen;
    options.tls = tls;
    options.facts = {
        "/", "127.0.0.1:1234", process_clock_.Now().steady, &process_clock_, {}, [this] {
          return leads_.load();
        }};
    options.streams_max = streams_max_;
    options.door = door_.get();
    auto server = RpcServer::Start(options, mailbox_, reader_thread_, *code_, stats_);
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    server_->SetHealth(RpcServer::Health::kServing);
    return absl::OkStatus();
  }
  void Serve(const std::string& listen = "127.0.0.1:0", const TlsFiles& tls = {}) {
    const absl::Status status = TryServe(listen, tls);
    ASSERT_TRUE(status.ok()) << status;
    Dial(server_->address(), tls);
  }
  void Dial(const std::string& address, const TlsFiles& tls = {}) {
    auto credentials = MakeChannelCredentials(tls, address);
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    channel_ = grpc::CreateCustomChannel(address, *credentials, ClientChannelArguments());
    control_ = v1::Control::NewStub(channel_);
    fleet_ = v1::Fleet::NewStub(channel_);
  }
  void Script(ScriptedCore::Script script) {
    core_ = std::make_unique<ScriptedCore>(mailbox_, *server_, std::move(script));
  }
  // Answers every call with an empty OK of GetStatus.
  void AnswerStatus() {
    Script([](Event& event, Publisher& publisher) {
      if (const auto* call = std::get_if<ClientCall>(&event.what)) {
        auto response = std::make_unique<v1::GetStatusResponse>();
        response->set_workers(3);
        publisher.Answer({call->reply, absl::OkStatus(), std::move(response)});
      }
    });
  }
  grpc::Status GetStatus(v1::GetStatusResponse* response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return control_->GetStatus(&context, {}, response);
  }

  size_t streams_max_ = limits::kStreams;
  std::atomic<bool> leads_{true};
  Seen seen_;  // used by scripts, which outlive the body of a test
  RpcStats stats_;
  FakeReader reader_;
  ProcessClock process_clock_;
  Mailbox<Event> mailbox_{8, 2};
  ReaderThread reader_thread_{reader_};
  testing::TempFolder code_folder_;
  std::unique_ptr<CodeKeeper> code_ = *CodeKeeper::Start(code_folder_ / "code");
  std::unique_ptr<Door> door_;  // made by tests of access rights
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<ScriptedCore> core_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Control::Stub> control_;
  std::unique_ptr<v1::Fleet::Stub> fleet_;
};

inline v1::WorkerReport FirstReport() {
  v1::WorkerReport report;
  report.mutable_hello()->set_worker("host/0");
  report.mutable_hello()->set_instance(7);
  report.mutable_hello()->set_session(1);
  report.mutable_hello()->set_device("cpu");
  return report;
}

// Describes an event: "report 3" by its first item's sequence, "closed", "call".
inline std::string Describe(const Event& event) {
  if (const auto* received = std::get_if<ReportReceived>(&event.what)) {
    const auto& items = received->report.items();
    return "report " + std::to_string(items.empty() ? 0 : items.Get(0).sequence());
  }
  if (std::holds_alternative<StreamClosed>(event.what)) return "closed";
  return "call";
}

}  // namespace dt
