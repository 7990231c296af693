// door_test.cc: every method of every service, called over a real socket with every role.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/net/token.h"
#include "common/sha256.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/run/recover.h"
#include "coordinator/core/step.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/testing/experiments.h"
#include "tests/testing/rpc_fixture.h"

namespace dt {
namespace {

class DoorRpcTest : public RpcTest {
 protected:
  void SetUp() override {
    auto door = Door::Open(folder_ / "state", clock_);
    ASSERT_TRUE(door.ok()) << door.status();
    door_ = *std::move(door);
    Serve();
    // Calls that reach the core get an answer that the door never gives.
    Script([this](Event& event, Publisher& publisher) {
      const auto* call = std::get_if<ClientCall>(&event.what);
      if (call == nullptr) return;
      if (real_) return StepForReal(event, publisher);
      seen_.Add(call->only_of);
      publisher.Answer({call->reply, absl::NotFoundError("the core was asked"), nullptr});
    });
  }
  void TearDown() override {
    RpcTest::TearDown();
    server_.reset();
    door_.reset();  // before the folder that it writes to
  }
  // Runs the real core, so that its use of a caller's bounds is tested too.
  void StepForReal(Event& event, Publisher& publisher) {
    Effects effects = Step(state_, std::move(event), clock_.Now());
    records_ += effects.records.size();
    for (Reply& reply : effects.replies) publisher.Answer(std::move(reply));
  }
  std::string TokenOf(Role role, const std::string& name) {
    v1::CreateTokenRequest request;
    request.set_role(std::string(RoleWord(role)));
    request.set_name(name);
    std::promise<std::string> token;
    EXPECT_TRUE(door_->Post([&] { token.set_value(door_->Create(request, "test")->token()); }));
    return token.get_future().get();
  }
  // Sends an empty message to a method by its name, so that new methods are called too.
  grpc::Status Call(const std::string& path, const std::string& token,
                    const google::protobuf::Message* request = nullptr) {
    grpc::ClientContext context;
    SetDeadline(context);
    AddToken(token, context);
    const grpc::Slice slice(request == nullptr ? "" : request->SerializeAsString());
    const grpc::ByteBuffer bytes(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> end;
    grpc::GenericStub stub(channel_);
    stub.UnaryCall(&context, path, grpc::StubOptions(), &bytes, &response,
                   [&end](grpc::Status status) { end.set_value(std::move(status)); });
    return end.get_future().get();
  }
  struct Named {
    std::string path;
    std::string method;
    const google::protobuf::Descriptor* request;
  };
  static std::vector<Named> Methods() {
    std::vector<Named> methods;
    for (const google::protobuf::FileDescriptor* file :
         {v1::SubmitRequest::descriptor()->file(), v1::WorkerReport::descriptor()->file(),
          v1::AuditEntry::descriptor()->file()}) {
      for (int i = 0; i < file->service_count(); ++i) {
        for (int k = 0; k < file->service(i)->method_count(); ++k) {
          const auto& method = *file->service(i)->method(k);
          methods.push_back({absl::StrCat("/", std::string(file->service(i)->full_name()), "/",
                                          std::string(method.name())),
                             std::string(method.name()), method.input_type()});
        }
      }
    }
    return methods;
  }

  testing::TempFolder folder_;
  SystemClock clock_;
  std::atomic<bool> real_{false};
  State state_;                     // used by the core's thread if the core is real
  std::atomic<size_t> records_{0};  // made by the core
};

TEST_F(DoorRpcTest, EachMethodLetsInTheRolesOfTheTableAndNoOther) {
  ASSERT_GE(Methods().size(), 24u);
  for (const Role role : kRoles) {
    const std::string token = TokenOf(role, "ann");
    for (const Named& one : Methods()) {
      const grpc::Status status = Call(one.path, token);
      const Right* right = FindRight(one.method);
      ASSERT_NE(right, nullptr) << one.method;
      if (ReachOf(*right, role) == Reach::kNone) {
        EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED)
            << one.method << " as " << RoleWord(role) << ": " << status.error_message();
        EXPECT_NE(status.error_message().find("needs the role"), std::string::npos);
      } else {
        EXPECT_NE(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << one.method;
        EXPECT_EQ(status.error_message().find("needs the role"), std::string::npos) << one.method;
        // A worker's GetCode, and a joiner's Join, must name the worker.
        if (ReachOf(*right, role) == Reach::kAll || one.method == "Session" ||
            role == Role::kSubmitter) {
          EXPECT_NE(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << one.method;
        }
      }
    }
  }
}

TEST_F(DoorRpcTest, WithoutATokenOrWithAWrongOneEveryMethodIsClosed) {
  const std::string wrong = absl::StrCat("dtr_", std::string(64, '0'));
  for (const std::string& token : {std::string(), wrong}) {
    for (const Named& one : Methods()) {
      const grpc::Status status = Call(one.path, token);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << one.method;
      EXPECT_NE(status.error_message().find("dtctl token create"), std::string::npos);
    }
  }
  EXPECT_EQ(seen_.WaitFor(0).size(), 0u) << "something reached the core";
}

// Generated from the table, so that a new method's rights on others' experiments are tested too.
TEST_F(DoorRpcTest, ASubmittersMethodsAreRefusedForOthersExperiments) {
  v1::Record created;
  created.mutable_journal_created()->set_journal_id(7);
  ASSERT_TRUE(Apply(state_.durable, created).ok());
  Recover(state_, clock_.Now());
  real_ = true;
  const std::string ann = TokenOf(Role::kSubmitter, "ann");
  const std::string bob = TokenOf(Role::kSubmitter, "bob");
  const std::string root = TokenOf(Role::kAdmin, "root");
  v1::SubmitRequest submit;
  *submit.mutable_spec() = OneTrial();
  submit.set_who("bob");  // the name in her own request does not count
  const auto about = [](const Named& method, uint64_t experiment) {
    std::unique_ptr<google::protobuf::Message> request(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(method.request)->New());
    const auto* field = method.request->FindFieldByName("experiment");
    EXPECT_NE(field, nullptr) << method.method << " names no experiment of another user";
    if (field != nullptr) request->GetReflection()->SetUInt64(request.get(), field, experiment);
    return request;
  };
  int tried = 0;
  for (const Named& one : Methods()) {
    const Right* right = FindRight(one.method);
    ASSERT_NE(right, nullptr) << one.method;
    if (right->submitter != Reach::kOwn || one.method == "Submit") continue;
    ASSERT_TRUE(Call("/dtrain.v1.Control/Submit", ann, &submit).ok());
    const uint64_t hers = static_cast<uint64_t>(++tried);
    const size_t before = records_;
    const grpc::Status others = Call(one.path, bob, about(one, hers).get());
    EXPECT_EQ(others.error_code(), grpc::StatusCode::PERMISSION_DENIED) << one.method;
    EXPECT_NE(others.error_message().find("was submitted by ann"), std::string::npos);
    EXPECT_EQ(records_, before) << one.method << " was refused and left a record";
    EXPECT_NE(Call(one.path, ann, about(one, hers).get()).error_code(),
              grpc::StatusCode::PERMISSION_DENIED)
        << one.method << " of her own";
    EXPECT_NE(Call(one.path, root, about(one, hers).get()).error_code(),
              grpc::StatusCode::PERMISSION_DENIED)
        << one.method << " by an admin";
  }
  EXPECT_EQ(tried, 8);
}

TEST_F(DoorRpcTest, ASubmittersChangesReachTheCoreBoundToTheirNameAndAnAdminsUnbound) {
  const std::string submitter = TokenOf(Role::kSubmitter, "ann");
  const std::string admin = TokenOf(Role::kAdmin, "root");
  const v1::CancelRequest request;
  std::vector<std::string> bound;
  for (const std::string method : {"Cancel", "Retry", "Change", "Delete"}) {
    Call("/dtrain.v1.Control/" + method, submitter, &request);
    Call("/dtrain.v1.Control/" + method, admin, &request);
    bound.insert(bound.end(), {"ann", ""});
  }
  EXPECT_EQ(seen_.WaitFor(8), bound);
}

TEST_F(DoorRpcTest, AWorkersTokenIsValidForItsNameAndItsSlotsOnly) {
  const v1::WorkerReport report = FirstReport();  // from host/0
  v1::GetCodeRequest code;
  code.set_worker("host/0");
  for (const auto& [name, may] : {std::pair("host", true),
                                  {"host/0", true},
                                  {"*", true},
                                  {"hos", false},
                                  {"host/1", false}}) {
    const std::string token = TokenOf(Role::kWorker, name);
    EXPECT_EQ(Call("/dtrain.v1.Fleet/GetCode", token, &code).error_code() ==
                  grpc::StatusCode::PERMISSION_DENIED,
              !may)
        << name;
    if (may) continue;  // an allowed stream stays open
    const grpc::Status status = Call("/dtrain.v1.Fleet/Session", token, &report);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << name;
    EXPECT_NE(status.error_message().find("dtctl token create --role worker"), std::string::npos);
  }
}

TEST_F(DoorRpcTest, AJoinersTokenJoinsItsNameOrASlotBelowItAndTheRecordHasIt) {
  v1::JoinRequest request;
  request.set_worker("other");
  request.set_hash(Sha256Hex("mine"));
  const std::string token = TokenOf(Role::kJoiner, "host");
  const grpc::Status other = Call("/dtrain.v1.Access/Join", token, &request);
  EXPECT_EQ(other.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(other.error_message().find("--role joiner --name other"), std::string::npos)
      << other.error_message();
  request.set_worker("host/cpu:0");
  EXPECT_TRUE(Call("/dtrain.v1.Access/Join", token, &request).ok()) << "it was not used up";
  std::promise<v1::ListAuditResponse> page;
  ASSERT_TRUE(door_->Post([&] { page.set_value(*door_->Audit({})); }));
  const v1::ListAuditResponse entries = page.get_future().get();
  ASSERT_EQ(entries.entries_size(), 2) << entries.DebugString();
  EXPECT_EQ(entries.entries(1).who(), "host");
  EXPECT_EQ(entries.entries(1).role(), "joiner");
  EXPECT_EQ(entries.entries(1).subject(),
            absl::StrCat("token ", request.hash().substr(0, 12), ": worker 'host'"));
}

TEST_F(DoorRpcTest, AnOpenStreamEndsOnceItsTokenIsTakenBack) {
  const std::string token = TokenOf(Role::kWorker, "host");
  grpc::ClientContext context;
  SetDeadline(context);
  AddToken(token, context);
  const auto stream = fleet_->Session(&context);
  ASSERT_TRUE(stream->Write(FirstReport()));
  std::promise<absl::Status> taken;
  v1::RevokeTokenRequest request;
  request.set_token("host");
  ASSERT_TRUE(door_->Post([&] { taken.set_value(door_->Revoke(request).status()); }));
  ASSERT_TRUE(taken.get_future().get().ok());
  v1::WorkerReport later;
  stream->Write(later);
  v1::Orders orders;
  while (stream->Read(&orders)) {
  }
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << status.error_message();
}

TEST_F(DoorRpcTest, ActsAndRefusalsAreInTheRecord) {
  v1::MarkWorkerRequest mark;
  mark.set_worker("gpu07/cuda:0");
  Call("/dtrain.v1.Control/MarkWorker", TokenOf(Role::kAdmin, "root"), &mark);
  Call("/dtrain.v1.Control/MarkWorker", TokenOf(Role::kObserver, "bob"), &mark);
  std::promise<v1::ListAuditResponse> page;
  ASSERT_TRUE(door_->Post([&] { page.set_value(*door_->Audit({})); }));
  const v1::ListAuditResponse entries = page.get_future().get();
  ASSERT_EQ(entries.entries_size(), 2) << entries.DebugString();
  EXPECT_EQ(entries.entries(0).who(), "root");
  EXPECT_EQ(entries.entries(0).subject(), "worker gpu07/cuda:0");
  EXPECT_EQ(entries.entries(1).who(), "bob");
  EXPECT_EQ(entries.entries(1).outcome(), "PERMISSION_DENIED");
}

TEST_F(RpcTest, WithoutADoorNoCallNeedsAToken) {
  Serve();
  AnswerStatus();
  v1::GetStatusResponse response;
  EXPECT_TRUE(GetStatus(&response).ok());
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListTokensResponse tokens;
  const grpc::Status status =
      v1::Access::NewStub(channel_)->ListTokens(&context, v1::ListTokensRequest(), &tokens);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("--auth=tokens"), std::string::npos);
}

}  // namespace
}  // namespace dt
