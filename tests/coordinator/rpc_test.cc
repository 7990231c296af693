// rpc_test.cc: the gRPC side over real sockets, with a scripted core behind the mailbox.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/grpc_settings.h"
#include "common/mutex.h"
#include "coordinator/rpc/server.h"
#include "dtrain/v1/control.grpc.pb.h"
#include "dtrain/v1/fleet.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/health_check_service_interface.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoSeconds(kPatience));
}

class FakeReader final : public Reader {
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

// Stands where the core loop stands: answers events with a function of the test, on one thread.
class ScriptedCore {
 public:
  using Script = std::function<void(Event&, Publisher&)>;

  ScriptedCore(Mailbox<Event>& mailbox, Publisher& publisher, Script script)
      : mailbox_(mailbox), thread_([this, &publisher, script = std::move(script)] {
          while (true) {
            std::vector<Event> events = mailbox_.Drain(16, absl::Now() + kPatience);
            if (events.empty() && mailbox_.Closed()) return;
            size_t bytes = 0;
            for (const Event& event : events) bytes += event.bytes;
            publisher.OnDrained(bytes);
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

// What the scripted core saw, in order, for the test's thread to wait for.
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
    if (server_ != nullptr) server_->Shutdown();
  }

  absl::Status TryServe(const std::string& listen, const TlsFiles& tls = {}) {
    ServerOptions options;
    options.listen = listen;
    options.tls = tls;
    options.facts = {"/", "127.0.0.1:1234", 5};
    auto server = RpcServer::Start(options, mailbox_, reader_thread_, stats_);
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

  RpcStats stats_;
  FakeReader reader_;
  Mailbox<Event> mailbox_{8, 2};
  ReaderThread reader_thread_{reader_};
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<ScriptedCore> core_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Control::Stub> control_;
  std::unique_ptr<v1::Fleet::Stub> fleet_;
};

v1::WorkerReport FirstReport() {
  v1::WorkerReport report;
  report.mutable_hello()->set_worker("host/0");
  report.mutable_hello()->set_instance(7);
  report.mutable_hello()->set_device("cpu");
  return report;
}

// "report 3" by its first item's sequence, "closed", "call".
std::string Describe(const Event& event) {
  if (const auto* received = std::get_if<ReportReceived>(&event.what)) {
    const auto& items = received->report.items();
    return "report " + std::to_string(items.empty() ? 0 : items.Get(0).sequence());
  }
  if (std::holds_alternative<StreamClosed>(event.what)) return "closed";
  return "call";
}

TEST_F(RpcTest, AStatusCallCarriesTheCoresAnswerAndTheProcesssFacts) {
  Serve();
  AnswerStatus();
  v1::GetStatusResponse response;
  const grpc::Status status = GetStatus(&response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.workers(), 3u);
  EXPECT_EQ(response.http_address(), "127.0.0.1:1234");
  EXPECT_EQ(response.started_wall_ms(), 5);
  EXPECT_EQ(stats_.of(Method::kGetStatus).handled[0], 1u);
}

TEST_F(RpcTest, AnErrorOfTheCoreReachesTheCallerWithCodeAndMessage) {
  Serve();
  Script([](Event& event, Publisher& publisher) {
    publisher.Answer({std::get<ClientCall>(event.what).reply,
                      absl::AlreadyExistsError("request id x was used"), nullptr});
  });
  v1::SubmitResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = control_->Submit(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(status.error_message(), "request id x was used");
}

TEST_F(RpcTest, ACallWithoutADeadlineIsRefused) {
  Serve();
  AnswerStatus();
  v1::GetStatusResponse response;
  grpc::ClientContext without;
  EXPECT_EQ(control_->GetStatus(&without, {}, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  grpc::ClientContext long_one;
  long_one.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(5));
  EXPECT_EQ(control_->GetStatus(&long_one, {}, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RpcTest, AFullMailboxRefusesCallsAtOnce) {
  Serve();
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(mailbox_.Post(Event{Tick{}}, PostClass::kControl));
  v1::GetStatusResponse response;
  EXPECT_EQ(GetStatus(&response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(RpcTest, TheCoreSaysFirstWhatIsReadAndThatItExists) {
  Serve();
  Script([](Event& event, Publisher& publisher) {
    const auto& call = std::get<ClientCall>(event.what);
    const auto& request = std::get<v1::ListTrialsRequest>(call.request);
    if (request.trial() == 77) return publisher.Answer({call.reply, absl::NotFoundError(""), {}});
    auto response = std::make_unique<v1::ListTrialsResponse>();
    response->add_trials()->set_experiment(42);
    publisher.Answer({call.reply, absl::OkStatus(), std::move(response)});
  });
  v1::ReadMetricsRequest request;
  v1::ReadMetricsResponse response;
  request.set_last(true);
  grpc::ClientContext context;
  SetDeadline(context);
  ASSERT_TRUE(control_->ReadMetrics(&context, request, &response).ok());
  ASSERT_EQ(response.rows_size(), 1);
  EXPECT_EQ(response.rows(0).trial(), 42u);

  request.set_trial(77);
  grpc::ClientContext unknown;
  SetDeadline(unknown);
  EXPECT_EQ(control_->ReadMetrics(&unknown, request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);

  v1::ReadLogsRequest logs;
  logs.set_last(true);
  v1::ReadLogsResponse no_logs;
  grpc::ClientContext refused;
  SetDeadline(refused);
  EXPECT_EQ(control_->ReadLogs(&refused, logs, &no_logs).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RpcTest, AStreamBringsReportsInOrderTakesOrdersAndEndsWithItsClosing) {
  Serve();
  Seen seen;
  Script([&](Event& event, Publisher& publisher) {
    seen.Add(Describe(event));
    if (const auto* received = std::get_if<ReportReceived>(&event.what)) {
      OrdersOut out;
      out.stream = received->stream;
      out.orders.set_acked_sequence(
          received->report.items().empty() ? 0 : received->report.items(0).sequence());
      publisher.SendOrders(std::move(out));
    }
  });
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = fleet_->Session(&context);
  v1::WorkerReport report = FirstReport();
  v1::Orders orders;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    v1::Item& item = *report.add_items();
    item.set_sequence(sequence);
    item.set_attempt_token(std::string(16, 't'));
    item.mutable_running();
    ASSERT_TRUE(stream->Write(report));
    ASSERT_TRUE(stream->Read(&orders));
    EXPECT_EQ(orders.acked_sequence(), sequence);
    report.Clear();
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(seen.WaitFor(4),
            (std::vector<std::string>{"report 1", "report 2", "report 3", "closed"}));
  EXPECT_EQ(server_->fleet().reports(), 3u);
}

TEST_F(RpcTest, AStreamThatDoesNotIntroduceItselfIsEnded) {
  Serve();
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = fleet_->Session(&context);
  ASSERT_TRUE(stream->Write(v1::WorkerReport()));
  v1::Orders orders;
  EXPECT_FALSE(stream->Read(&orders));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(mailbox_.Size(), 0u);
}

TEST_F(RpcTest, AMalformedReportEndsAnOpenStreamAndTheCoreIsTold) {
  Serve();
  Seen seen;
  Script([&](Event& event, Publisher&) { seen.Add(Describe(event)); });
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = fleet_->Session(&context);
  ASSERT_TRUE(stream->Write(FirstReport()));
  v1::WorkerReport bad;
  bad.add_items()->set_sequence(1);  // without a token
  ASSERT_TRUE(stream->Write(bad));
  v1::Orders orders;
  EXPECT_FALSE(stream->Read(&orders));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(seen.WaitFor(2), (std::vector<std::string>{"report 0", "closed"}));
}

TEST_F(RpcTest, ReportsThatFindNoPlaceWaitAndNoneIsLost) {
  Serve();
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = fleet_->Session(&context);
  constexpr uint64_t kReports = 100;
  std::thread writer([&] {
    v1::WorkerReport report = FirstReport();
    for (uint64_t sequence = 1; sequence <= kReports; ++sequence) {
      v1::Item& item = *report.add_items();
      item.set_sequence(sequence);
      item.set_attempt_token(std::string(16, 't'));
      item.mutable_running();
      EXPECT_TRUE(stream->Write(report));
      report.Clear();
    }
    stream->WritesDone();
  });
  // Nobody drains yet: the mailbox fills to its share for reports, and not beyond.
  const absl::Time deadline = absl::Now() + kPatience;
  while (mailbox_.Size() < 6 && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_EQ(mailbox_.Size(), 6u);
  Seen seen;
  Script([&](Event& event, Publisher&) { seen.Add(Describe(event)); });
  const std::vector<std::string> all = seen.WaitFor(kReports + 1);
  writer.join();
  ASSERT_EQ(all.size(), kReports + 1);
  for (uint64_t i = 0; i < kReports; ++i) EXPECT_EQ(all[i], "report " + std::to_string(i + 1));
  EXPECT_EQ(all.back(), "closed");
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(RpcTest, TheCoreEndsAStreamWithItsReason) {
  Serve();
  Seen seen;
  Script([&](Event& event, Publisher& publisher) {
    seen.Add(Describe(event));
    if (const auto* received = std::get_if<ReportReceived>(&event.what)) {
      publisher.EndStream({received->stream, absl::AlreadyExistsError("held by 10.0.0.7")});
    }
  });
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = fleet_->Session(&context);
  ASSERT_TRUE(stream->Write(FirstReport()));
  v1::Orders orders;
  EXPECT_FALSE(stream->Read(&orders));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(status.error_message(), "held by 10.0.0.7");
  EXPECT_EQ(seen.WaitFor(2).back(), "closed");
}

TEST_F(RpcTest, ShutdownTellsStreamsAndWaitingCallsToComeBack) {
  Serve();
  Seen seen;
  Script([&](Event& event, Publisher&) { seen.Add(Describe(event)); });  // answers nothing
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = fleet_->Session(&context);
  ASSERT_TRUE(stream->Write(FirstReport()));
  grpc::Status call_status;
  std::thread caller([&] {
    v1::GetStatusResponse response;
    call_status = GetStatus(&response);
  });
  seen.WaitFor(2);
  core_.reset();
  const absl::Time start = absl::Now();
  server_->Shutdown();
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  caller.join();
  EXPECT_EQ(call_status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  server_.reset();
}

TEST_F(RpcTest, AUnixSocketServesAndIsRemovedAtTheEnd) {
  const testing::TempFolder folder;
  const std::string path = folder / "coord.sock";
  Serve("unix:" + path);
  AnswerStatus();
  v1::GetStatusResponse response;
  EXPECT_TRUE(GetStatus(&response).ok());
  core_.reset();
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(RpcTest, AnAddressThatOthersCouldReachNeedsTls) {
  EXPECT_EQ(TryServe("0.0.0.0:0").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RpcTest, ATakenPortIsAnErrorThatNamesIt) {
  Serve();
  const std::string taken = server_->address();
  auto second = RpcServer::Start({taken, {}, {}}, mailbox_, reader_thread_, stats_);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find(taken), absl::string_view::npos);
}

TEST_F(RpcTest, MutualTlsServesCertifiedClientsAndNoOthers) {
  const testing::TempFolder folder;
  const std::string script =
      "cd " + folder.path() +
      " && openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=test"
      " -days 1 2>log"
      " && openssl req -newkey rsa:2048 -nodes -keyout own.key -out own.csr -subj /CN=localhost"
      " 2>>log && printf 'subjectAltName=IP:127.0.0.1' > ext"
      " && openssl x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out own.pem"
      " -days 1 -extfile ext 2>>log";
  if (std::system(script.c_str()) != 0) GTEST_SKIP() << "openssl cannot make certificates here";
  const TlsFiles tls{folder / "ca.pem", folder / "own.pem", folder / "own.key"};
  Serve("127.0.0.1:0", tls);
  AnswerStatus();
  v1::GetStatusResponse response;
  const grpc::Status certified = GetStatus(&response);
  EXPECT_TRUE(certified.ok()) << certified.error_message();

  Dial(server_->address());  // in the clear
  grpc::ClientContext clear;
  clear.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  EXPECT_FALSE(control_->GetStatus(&clear, {}, &response).ok());

  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::string();
  std::FILE* ca = std::fopen(tls.ca.c_str(), "r");
  ASSERT_NE(ca, nullptr);
  for (int c; (c = std::fgetc(ca)) != EOF;) options.pem_root_certs.push_back(static_cast<char>(c));
  std::fclose(ca);
  auto uncertified = v1::Control::NewStub(grpc::CreateChannel(
      server_->address(), grpc::SslCredentials(options)));  // trusts us, shows nothing
  grpc::ClientContext without;
  without.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  EXPECT_FALSE(uncertified->GetStatus(&without, {}, &response).ok());
}

// The distribution's gRPC alone would never accept again (CVE-2023-4785).
TEST_F(RpcTest, ServiceGoesOnAfterAFloodOfIdleConnectionsUsedUpEveryDescriptor) {
  Serve();
  AnswerStatus();
  v1::GetStatusResponse response;
  ASSERT_TRUE(GetStatus(&response).ok());
  int port = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(server_->address().substr(server_->address().rfind(':') + 1), &port));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<int> flood;
  int refusals = 0;
  // Goes on past the first refusals, so that connections wait while the server has no descriptor.
  for (int i = 0; i < 2000 && refusals < 50; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      ++refusals;
      std::this_thread::yield();
      continue;
    }
    flood.push_back(fd);
    if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0) ++refusals;
  }
  EXPECT_GT(refusals, 0);
  for (const int fd : flood) close(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  Dial("localhost:" + std::to_string(port));  // another name: a connection of its own
  const grpc::Status status = GetStatus(&response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace dt
