// rpc_test.cc: calls, addresses and TLS over real sockets.
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/text.h"
#include "tests/testing/experiments.h"
#include "tests/testing/rpc_fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

constexpr char kNoOpenssl[] = "openssl cannot make certificates here";

// Makes a certificate and its authority in `folder`, with these alternative names; none without
// openssl.
std::optional<TlsFiles> MakeCertificate(const std::string& folder, const std::string& names) {
  const std::string script =
      "cd " + folder +
      " && openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=test"
      " -days 1 2>log"
      " && openssl req -newkey rsa:2048 -nodes -keyout own.key -out own.csr -subj /CN=localhost"
      " 2>>log && printf 'subjectAltName=" +
      names +
      "' > ext"
      " && openssl x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out own.pem"
      " -days 1 -extfile ext 2>>log";
  if (std::system(script.c_str()) != 0) return std::nullopt;
  return TlsFiles{folder + "/ca.pem", folder + "/own.pem", folder + "/own.key"};
}

TEST_F(RpcTest, AStatusCallCarriesTheCoresAnswerAndTheProcesssFacts) {
  Serve();
  AnswerStatus();
  v1::GetStatusResponse response;
  const grpc::Status status = GetStatus(&response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.workers(), 3u);
  EXPECT_EQ(response.http_address(), "127.0.0.1:1234");
  EXPECT_EQ(response.started_wall_ms(), process_clock_.wall_ms);
  EXPECT_EQ(stats_.of("GetStatus").handled[0], 1u);
}

TEST_F(RpcTest, AStatusThatIsShownIsAnsweredThoughTheCoreStandsStill) {
  Serve();
  auto shown = std::make_shared<v1::GetStatusResponse>();
  shown->set_workers(4);
  server_->ShowStatus(std::move(shown));
  v1::GetStatusResponse response;
  const grpc::Status status = GetStatus(&response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.workers(), 4u);
  EXPECT_EQ(response.http_address(), "127.0.0.1:1234");
  EXPECT_EQ(stats_.of("GetStatus").handled[0], 1u);
}

TEST_F(RpcTest, WhileAnotherMayLeadAStatusWaitsForTheCore) {
  Serve();
  AnswerStatus();
  server_->ShowStatus(std::make_shared<v1::GetStatusResponse>());
  leads_.store(false);
  v1::GetStatusResponse response;
  ASSERT_TRUE(GetStatus(&response).ok());
  EXPECT_EQ(response.workers(), 3u);
}

TEST_F(RpcTest, TheStartTimeIsCorrectOnceAWrongClockIsCorrected) {
  process_clock_.wall_ms = 4'000'000'000'000;  // of the year 2096
  Serve();
  AnswerStatus();
  process_clock_.steady_ms = 90'000;
  process_clock_.wall_ms = 1'700'000'090'000;
  v1::GetStatusResponse response;
  const grpc::Status status = GetStatus(&response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.started_wall_ms(), 1'700'000'000'000);
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

// Submits `text` alone to a core that numbers it 12, and returns the answer.
v1::SubmitResponse SubmitText(v1::Control::Stub& control, const std::string& text) {
  v1::SubmitRequest request;
  request.set_file_name("grid.yaml");
  request.set_file_text(text);
  v1::SubmitResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = control.Submit(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

TEST_F(RpcTest, AFileThatComesAsTextIsReadBeforeTheCoreSeesIt) {
  Serve();
  Script([this](Event& event, Publisher& publisher) {
    const auto& call = std::get<ClientCall>(event.what);
    const auto& submission = std::get<Submission>(call.request);
    seen_.Add(submission.record.experiment_submitted().spec().name());
    auto response = std::make_unique<v1::SubmitResponse>();
    response->set_experiment(12);
    publisher.Answer({call.reply, submission.refused, std::move(response)});
  });
  const std::string head = "version: 1\ndata: {train: \"a/train_*.bin\", val: \"a/val_*.bin\"}\n";
  const v1::SubmitResponse refused = SubmitText(*control_, head + "name: [a, list]\n");
  EXPECT_EQ(refused.experiment(), 0u);
  ASSERT_EQ(refused.diagnostics_size(), 1) << refused.DebugString();
  EXPECT_EQ(refused.diagnostics(0).line(), 3);
  const v1::SubmitResponse warned =
      SubmitText(*control_, head + "name: mine\noptimizer: {lr: 1000}\n");
  EXPECT_EQ(warned.experiment(), 12u);
  ASSERT_EQ(warned.diagnostics_size(), 1) << warned.DebugString();
  EXPECT_EQ(warned.diagnostics(0).severity(), "warning");
  EXPECT_EQ(seen_.WaitFor(1), std::vector<std::string>{"mine"});
}

// Numbers that no file may have, but that every role may send: 2^31 slots kept gRPC's threads busy
// for half a minute each, and others ended the process.
TEST_F(RpcTest, PlansAndSubmissionsOfAnyNumbersAreAnsweredAtOnce) {
  Serve();
  AnswerStatus();
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  std::vector<v1::ExperimentSpec> specs(3, OneTrial());
  specs[0].mutable_base()->mutable_resources()->set_max_gpus(kMost);
  specs[0].mutable_base()->mutable_train()->set_global_batch_size(kMost);
  specs[0].add_explicit_paths("train.global_batch_size");
  v1::Parallel& parallel = *specs[1].mutable_base()->mutable_parallel();
  parallel.set_strategy("hsdp");
  parallel.set_shard(kMost);
  parallel.set_tensor(-kMost);
  parallel.set_pipeline(kMost);
  specs[1].mutable_base()->mutable_resources()->set_min_gpus(kMost);
  for (int i = 0; i < 1'000'000; ++i) specs[2].add_seeds(i % 100);
  for (const v1::ExperimentSpec& spec : specs) {
    v1::PlanRequest plan;
    *plan.mutable_spec() = spec;
    v1::PlanResponse planned;
    grpc::ClientContext context;
    SetDeadline(context);
    const grpc::Status status = control_->Plan(&context, plan, &planned);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_NE(status.error_message().find("the experiment is refused"), std::string::npos)
        << status.error_message();
  }
  v1::GetStatusResponse response;
  EXPECT_TRUE(GetStatus(&response).ok());
}

TEST_F(RpcTest, ALongErrorKeepsItsCodeAndAsMuchOfItsTextAsTravels) {
  Serve();
  for (const std::string part : {"a line\n", "\xc3\xbc", "%", "plain "}) {
    std::string text;
    while (text.size() < 20000) text += part;
    EXPECT_LE(PercentEncodedBytes(ToGrpcStatus(absl::InvalidArgumentError(text)).error_message()),
              limits::kStatusMessageBytes);
  }
  std::string text;
  while (text.size() < 20000) text += "name: \xc3\xbc is not a number\n";
  Script([&](Event& event, Publisher& publisher) {
    publisher.Answer(
        {std::get<ClientCall>(event.what).reply, absl::InvalidArgumentError(text), nullptr});
  });
  v1::SubmitResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = control_->Submit(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message().substr(0, 100), text.substr(0, 100));
  EXPECT_TRUE(status.error_message().ends_with(" ..."));
}

TEST_F(RpcTest, TextThatIsNotUtf8IsRefusedByItsNameAndNotAsAnUnknownCall) {
  Serve();
  AnswerStatus();
  v1::CancelRequest request;
  request.set_reason("caf\xe9");
  v1::CancelResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status = control_->Cancel(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "reason is not UTF-8; write it as UTF-8 text");
  v1::WorkerReport report = FirstReport();
  report.mutable_hello()->set_host("caf\xe9");
  grpc::ClientContext session;
  SetDeadline(session);
  auto stream = fleet_->Session(&session);
  stream->Write(report);
  EXPECT_EQ(stream->Finish().error_message(),
            "report refused: hello.host is not UTF-8; write it as UTF-8 text");
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

TEST_F(RpcTest, AReadStartsWithTheCoresAnswerThatItExists) {
  Serve();
  Script([](Event& event, Publisher& publisher) {
    const auto& call = std::get<ClientCall>(event.what);
    const auto& request = *FindRequest<v1::ListTrialsRequest>(call);
    if (request.trial() == 77) return publisher.Answer({call.reply, absl::NotFoundError(""), {}});
    auto response = std::make_unique<v1::ListTrialsResponse>();
    response->set_experiment(42);  // the experiment need not have a trial yet
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

TEST_F(RpcTest, ShutdownTellsStreamsAndWaitingCallsToComeBack) {
  Serve();
  Script([&](Event& event, Publisher&) { seen_.Add(Describe(event)); });  // answers nothing
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = fleet_->Session(&context);
  ASSERT_TRUE(stream->Write(FirstReport()));
  grpc::Status call_status;
  std::thread caller([&] {
    v1::GetStatusResponse response;
    call_status = GetStatus(&response);
  });
  seen_.WaitFor(2);
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
  auto second = RpcServer::Start({taken, {}, {}}, mailbox_, reader_thread_, *code_, stats_);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find(taken), absl::string_view::npos);
}

TEST_F(RpcTest, MutualTlsServesCertifiedClientsAndNoOthers) {
  const testing::TempFolder folder;
  const std::optional<TlsFiles> made = MakeCertificate(folder.path(), "IP:127.0.0.1");
  if (!made) GTEST_SKIP() << kNoOpenssl;
  const TlsFiles& tls = *made;
  Serve("127.0.0.1:0", tls);
  AnswerStatus();
  v1::GetStatusResponse response;
  const grpc::Status certified = GetStatus(&response);
  EXPECT_TRUE(certified.ok()) << certified.error_message();

  Dial(server_->address());  // without TLS
  grpc::ClientContext clear;
  clear.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  EXPECT_FALSE(control_->GetStatus(&clear, {}, &response).ok());

  grpc::SslCredentialsOptions options;
  options.pem_root_certs = testing::Slurp(tls.ca);
  auto uncertified = v1::Control::NewStub(grpc::CreateChannel(
      server_->address(), grpc::SslCredentials(options)));  // trusts the server, shows no
                                                            // certificate
  grpc::ClientContext without;
  without.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  EXPECT_FALSE(uncertified->GetStatus(&without, {}, &response).ok());
}

// Answers every change with the user's name that the core gets.
void AnswerWho(Event& event, Publisher& publisher) {
  const auto& call = std::get<ClientCall>(event.what);
  const std::string& who = FindRequest<v1::ChangeRequest>(call)->who();
  publisher.Answer({call.reply, absl::AbortedError(who), nullptr});
}

std::string AskWho(v1::Control::Stub& control) {
  v1::ChangeRequest request;
  request.set_who("ann");
  request.mutable_pause();
  v1::ChangeResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  return control.Change(&context, request, &response).error_message();
}

TEST_F(RpcTest, ACertificateNamesTheUserOfADrainAndOfASubmission) {
  const testing::TempFolder folder;
  const auto tls = MakeCertificate(folder.path(), "IP:127.0.0.1");
  if (!tls) GTEST_SKIP() << kNoOpenssl;
  Serve("127.0.0.1:0", *tls);
  Script([](Event& event, Publisher& publisher) {
    const auto& call = std::get<ClientCall>(event.what);
    std::string who;
    if (const auto* mark = FindRequest<v1::MarkWorkerRequest>(call)) who = mark->who();
    if (const auto* submission = std::get_if<Submission>(&call.request)) {
      who = submission->record.experiment_submitted().submitted_by();
    }
    publisher.Answer({call.reply, absl::AbortedError(who), nullptr});
  });
  const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(20);
  v1::MarkWorkerRequest mark;
  mark.set_who("ann");
  v1::MarkWorkerResponse marked;
  grpc::ClientContext marks;
  marks.set_deadline(deadline);
  EXPECT_EQ(control_->MarkWorker(&marks, mark, &marked).error_message(), "localhost");
  v1::SubmitRequest submission;
  *submission.mutable_spec() = OneTrial();
  submission.set_who("ann");
  v1::SubmitResponse submitted;
  grpc::ClientContext submits;
  submits.set_deadline(deadline);
  EXPECT_EQ(control_->Submit(&submits, submission, &submitted).error_message(), "localhost");
}

TEST_F(RpcTest, TheClientNamesTheUserOfAChange) {
  Serve();
  Script(AnswerWho);
  EXPECT_EQ(AskWho(*control_), "ann");
}

TEST_F(RpcTest, ACertificateNamesTheUserOfAChange) {
  const testing::TempFolder folder;
  const auto tls = MakeCertificate(folder.path(), "IP:127.0.0.1");
  if (!tls) GTEST_SKIP() << kNoOpenssl;
  Serve("127.0.0.1:0", *tls);
  Script(AnswerWho);
  EXPECT_EQ(AskWho(*control_), "localhost");
}

TEST_F(RpcTest, ACertificateThatNamesAWorkerIsValidForNoOther) {
  const testing::TempFolder folder;
  const auto tls = MakeCertificate(folder.path(), "IP:127.0.0.1,URI:dtrain://worker/host");
  if (!tls) GTEST_SKIP() << kNoOpenssl;
  Serve("127.0.0.1:0", *tls);
  Script([&](Event& event, Publisher& publisher) {
    if (const auto* received = std::get_if<ReportReceived>(&event.what)) {
      publisher.EndStream({received->stream, absl::AbortedError("taken")});
    }
  });
  const auto status_of = [this](const std::string& worker) {
    grpc::ClientContext context;
    SetDeadline(context);
    auto stream = fleet_->Session(&context);
    v1::WorkerReport report = FirstReport();
    report.mutable_hello()->set_worker(worker);
    stream->Write(report);
    return stream->Finish();
  };
  EXPECT_EQ(status_of("host/0").error_message(), "taken");
  const grpc::Status refused = status_of("other/0");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find("is for host;"), std::string::npos);
  const auto code_for = [this](const std::string& worker) {
    v1::GetCodeRequest request;
    request.set_worker(worker);
    v1::GetCodeResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    return fleet_->GetCode(&context, request, &response).error_code();
  };
  EXPECT_EQ(code_for("host/0"), grpc::StatusCode::NOT_FOUND) << "which it may ask for";
  EXPECT_EQ(code_for("other/0"), grpc::StatusCode::PERMISSION_DENIED);
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
  // Goes on after the first refusals, so that connections wait while the server has no descriptor.
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
  Dial("localhost:" + std::to_string(port));  // another name makes another connection
  const grpc::Status status = GetStatus(&response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace dt
