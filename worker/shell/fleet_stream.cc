// fleet_stream.cc: the callback reactor of one stream.
#include "worker/shell/fleet_stream.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/net/grpc_settings.h"
#include "common/net/token.h"
#include "grpcpp/create_channel.h"

namespace dt {
namespace {

// A stream posts at most one message, one write, the end of reads and its end before the main
// thread takes them.
constexpr size_t kEvents = 4;

}  // namespace

class FleetStream::Reactor final : public grpc::ClientBidiReactor<v1::WorkerReport, v1::Orders> {
 public:
  Reactor(Mailbox<Posted>& mailbox, const Wake& wake) : mailbox_(mailbox), wake_(wake) {}

  void Start(const std::shared_ptr<grpc::Channel>& channel, const std::string& token) {
    AddToken(token, context_);
    stub_ = v1::Fleet::NewStub(channel);
    stub_->async()->Session(&context_, this);
    // The main thread writes at any time; without the hold gRPC could finish meanwhile.
    AddHold();
    StartRead(&orders_);
    StartCall();
  }
  void Write(v1::WorkerReport report) {
    report_ = std::move(report);
    StartWrite(&report_);
  }
  void WritesDone() { StartWritesDone(); }
  void Cancel() { context_.TryCancel(); }
  v1::Orders TakeOrders() {
    v1::Orders taken = std::move(orders_);
    orders_.Clear();
    StartRead(&orders_);
    return taken;
  }
  // Releases the hold: the main thread will start nothing more.
  void LetGo() { RemoveHold(); }

  void OnReadDone(bool ok) override {
    if (ok) {
      Post(StreamOrders{});
    } else {
      Post(ReadsEnded{});
    }
  }
  void OnWriteDone(bool ok) override {
    if (ok) Post(StreamWritten{});
  }
  void OnDone(const grpc::Status& status) override { Post(StreamEnded{FromGrpcStatus(status)}); }

 private:
  // Must be the last thing a callback does: after StreamEnded the main thread may destroy this.
  void Post(Posted event) {
    const Wake& wake = wake_;
    DT_CHECK(mailbox_.Post(std::move(event), PostClass::kControl));
    wake.Signal();
  }

  Mailbox<Posted>& mailbox_;
  const Wake& wake_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::Fleet::Stub> stub_;
  v1::WorkerReport report_;
  v1::Orders orders_;
};

FleetStream::FleetStream(std::vector<std::string> addresses, ConnectionCredentials credentials,
                         std::string token_file)
    : addresses_(std::move(addresses)),
      credentials_(std::move(credentials)),
      token_file_(std::move(token_file)),
      at_(addresses_.size() - 1),
      mailbox_(kEvents, 0) {}

FleetStream::~FleetStream() {
  Cancel();
  // gRPC answers a cancelled call. Until then its memory must stay, so a missing answer is a fatal
  // error.
  const absl::Time deadline = absl::Now() + limits::kCallDeadline;
  while (Open()) {
    DT_CHECK(absl::Now() < deadline);
    std::vector<StreamEvent> ignored;
    for (Posted& posted : mailbox_.Drain(kEvents, deadline - absl::Now()))
      Handle(std::move(posted), ignored);
  }
}

void FleetStream::Connect() {
  DT_CHECK(!Open());
  at_ = (at_ + 1) % addresses_.size();
  // A channel of its own: a try to connect must not wait for gRPC's backoff after an earlier one;
  // we have our own backoff between tries.
  grpc::ChannelArguments arguments = ClientChannelArguments();
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  reactor_ = std::make_unique<Reactor>(mailbox_, wake_);
  // If the token cannot be read, the coordinator refuses with a reason, and this tries again.
  const std::string token =
      token_file_.empty() ? "" : ReadTokenFile("--token-file", token_file_).value_or("");
  reactor_->Start(grpc::CreateCustomChannel(address(), credentials_.Next(), arguments), token);
  writable_ = true;
}

void FleetStream::Write(v1::WorkerReport report) {
  // If the stream is ending, StreamEnded follows soon enough.
  if (writable_) reactor_->Write(std::move(report));
}

void FleetStream::WritesDone() {
  if (writable_) reactor_->WritesDone();
}

void FleetStream::Cancel() {
  if (Open()) reactor_->Cancel();
}

void FleetStream::Handle(Posted&& posted, std::vector<StreamEvent>& events) {
  if (std::holds_alternative<StreamOrders>(posted)) {
    events.push_back(StreamOrders{reactor_->TakeOrders()});
  } else if (std::holds_alternative<StreamWritten>(posted)) {
    events.push_back(StreamWritten{});
  } else if (std::holds_alternative<ReadsEnded>(posted)) {
    writable_ = false;
    reactor_->LetGo();
  } else {
    reactor_.reset();
    events.emplace_back(std::get<StreamEnded>(std::move(posted)));
  }
}

std::vector<StreamEvent> FleetStream::Take() {
  wake_.Clear();
  std::vector<StreamEvent> events;
  for (Posted& posted : mailbox_.Drain(kEvents, absl::ZeroDuration())) {
    Handle(std::move(posted), events);
  }
  return events;
}

}  // namespace dt
