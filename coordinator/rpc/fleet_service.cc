// fleet_service.cc: the reactor of one stream, and the table of all streams.
#include "coordinator/rpc/fleet_service.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/net/grpc_settings.h"
#include "common/status.h"
#include "coordinator/loop/entropy.h"
#include "coordinator/rpc/call_deadline.h"
#include "coordinator/rpc/identity.h"
#include "coordinator/rpc/report_check.h"
#include "coordinator/rpc/shown.h"
#include "coordinator/rpc/wire.h"

namespace dt {
namespace {

constexpr char kStopping[] = "the coordinator is stopping; connect again in a moment";

}  // namespace

// The life of one stream. gRPC calls OnReadDone, OnWriteDone and OnDone, at most one of each kind
// at a time.
class FleetService::Stream final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public std::enable_shared_from_this<Stream> {
 public:
  Stream(FleetService& service, StreamId id, grpc::CallbackServerContext* context)
      : service_(service),
        id_(id),
        peer_(context->peer()),
        watched_(service.watch_, peer_),
        certified_(AlternativeNames(*context)),
        context_(context) {}

  void Start(std::optional<Caller> caller) {
    caller_ = std::move(caller);
    StartRead(&bytes_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return PostClosed();
    watched_.NoteMessage();
    const size_t bytes = bytes_.Length();
    if (bytes > limits::kReportMessageBytes) {
      return Refuse(absl::InvalidArgumentError(
          absl::StrCat("report refused: it has ", bytes, " bytes; the limit is ",
                       limits::kReportMessageBytes, "; send the rest with the next")));
    }
    v1::WorkerReport report;
    if (absl::Status status = ReadMessage(bytes_, report); !status.ok()) {
      return Refuse(absl::InvalidArgumentError(absl::StrCat("report refused: ", status.message())));
    }
    auto totals =
        CheckReport(report, opened_.load() ? ReportPlace::kLater : ReportPlace::kFirstOfStream);
    if (!totals.ok()) return Refuse(totals.status());
    if (absl::Status status = CheckCaller(report); !status.ok()) return Refuse(status);
    opened_.store(true);
    service_.reports_.fetch_add(1, std::memory_order_relaxed);
    unposted_.emplace(Event{ReportReceived{id_, peer_, std::move(report), *std::move(totals)},
                            FreshEntropy(), bytes});
    PostUnposted();
  }

  // Posts the waiting event and reads on once it was taken. If it was not, ResumeReads calls this
  // again.
  void PostUnposted() {
    if (service_.closing_.load()) {
      unposted_.reset();
      return FinishOnce({grpc::StatusCode::UNAVAILABLE, kStopping});
    }
    const bool closing = std::holds_alternative<StreamClosed>(unposted_->what);
    if (!service_.PostOrPark(*unposted_, shared_from_this())) return;
    unposted_.reset();
    if (closing) return FinishOnce(grpc::Status::OK);
    if (!ReadNext()) PostClosed();
  }

  void SendOrders(v1::Orders&& orders) {
    MutexLock lock(&mutex_);
    if (finished_ || ending_.has_value()) return;
    next_orders_ = std::move(orders);
    WriteNext();
  }

  // Ends the stream after the write in progress. A write that takes too long is cut off.
  void FinishOnce(const grpc::Status& status) {
    MutexLock lock(&mutex_);
    if (finished_ || ending_.has_value()) return;
    ending_ = status;
    if (!writing_) return FinishNow();
    service_.LookAgain(id_, limits::kStreamEndGrace);
  }

  // Handles the end of one of this stream's waits.
  void EndWait() {
    if (!opened_.load()) {
      FinishOnce({grpc::StatusCode::DEADLINE_EXCEEDED,
                  absl::StrCat("no report arrived on this stream within ",
                               absl::FormatDuration(limits::kFirstReportDeadline))});
    }
    // The peer does not read: cancelling fails its write, and the stream ends with it.
    MutexLock lock(&mutex_);
    if (ending_.has_value() && !finished_ && context_ != nullptr) context_->TryCancel();
  }

  void OnWriteDone(bool) override {
    // A failed write means that the stream is broken; the pending read reports that too.
    MutexLock lock(&mutex_);
    writing_ = false;
    if (ending_.has_value()) return FinishNow();
    WriteNext();
  }

  void OnDone() override {
    {
      MutexLock lock(&mutex_);
      context_ = nullptr;  // invalid once this returns
    }
    service_.Remove(id_);  // may delete this
  }

 private:
  // Checks that the caller may be this worker, and that its token is still valid.
  absl::Status CheckCaller(const v1::WorkerReport& report) const {
    if (report.has_hello()) {
      DT_RETURN_IF_ERROR(CheckMayBe(report.hello().worker(), certified_));
      DT_RETURN_IF_ERROR(CheckTokenIsFor(report.hello().worker(), caller_));
    }
    if (!caller_ || service_.door_->StillHolds(*caller_)) return absl::OkStatus();
    return absl::UnauthenticatedError(
        absl::StrCat("the token ", caller_->token, " of '", caller_->name,
                     "' was revoked or has expired; give the worker another --token-file"));
  }
  void PostClosed() {
    if (!opened_.load()) return FinishOnce(grpc::Status::OK);
    unposted_.emplace(Event{StreamClosed{id_}, FreshEntropy()});
    PostUnposted();
  }

  // Starts the next read. Returns false if the stream is ending: then nothing more is started on
  // it.
  bool ReadNext() {
    MutexLock lock(&mutex_);
    if (finished_ || ending_.has_value()) return false;
    StartRead(&bytes_);
    return true;
  }

  // Ends the stream with `status`. Posts its closing, since no further read will end and report it.
  void Refuse(const absl::Status& status) {
    service_.refused_.fetch_add(1, std::memory_order_relaxed);
    FinishOnce(ToGrpcStatus(status));
    if (opened_.load()) PostClosed();
  }

  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_ || !next_orders_.has_value()) return;
    writing_ = true;
    orders_ = WriteMessage(*next_orders_);
    next_orders_.reset();
    StartWrite(&orders_);
  }
  void FinishNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    finished_ = true;
    service_.stats_.CountEnd("Session", ending_->error_code());
    Finish(*ending_);
  }

  FleetService& service_;
  const StreamId id_;
  const std::string peer_;
  WatchedCall watched_;
  const std::vector<std::string> certified_;  // alternative names in the peer's certificate
  std::optional<Caller> caller_;              // set before the first read
  // Used by one read callback at a time, or by the core thread while the stream is parked.
  grpc::ByteBuffer bytes_;
  std::optional<Event> unposted_;
  std::atomic<bool> opened_{false};

  Mutex mutex_;
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mutex_);  // nullptr: done
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer orders_ ABSL_GUARDED_BY(mutex_);  // the write in progress
  std::optional<v1::Orders> next_orders_ ABSL_GUARDED_BY(mutex_);
};

FleetService::~FleetService() = default;

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* FleetService::Session(
    grpc::CallbackServerContext* context) {
  const StreamId id = ++last_stream_;
  auto stream = std::make_shared<Stream>(*this, id, context);
  size_t open = 0;
  {
    MutexLock lock(&mutex_);
    streams_.emplace(id, stream);
    open = streams_.size();
  }
  if (closing_.load()) {
    stream->FinishOnce({grpc::StatusCode::UNAVAILABLE, kStopping});
  } else if (open > streams_max_) {
    stream->FinishOnce({grpc::StatusCode::RESOURCE_EXHAUSTED,
                        absl::StrCat("the coordinator has ", open - 1,
                                     " streams open, and takes no more; try again later")});
  } else if (absl::StatusOr<std::optional<Caller>> caller = AdmitTo("Session", *context);
             !caller.ok()) {
    stream->FinishOnce(ToGrpcStatus(caller.status()));
  } else {
    LookAgain(id, limits::kFirstReportDeadline);
    stream->Start(*std::move(caller));
  }
  return stream.get();
}

absl::StatusOr<std::optional<Caller>> FleetService::AdmitTo(
    std::string_view method, const grpc::CallbackServerContext& context) {
  if (door_ == nullptr) return std::optional<Caller>();
  DT_ASSIGN_OR_RETURN(Caller caller, door_->Admit(method, ShownBy(context)));
  return std::optional<Caller>(std::move(caller));
}

grpc::ServerUnaryReactor* FleetService::GetCode(grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer* bytes,
                                                grpc::ByteBuffer* response) {
  // Called once: gRPC creates a new reactor on each call, and would lose a Finish in between.
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const auto finish = [this, reactor](const absl::Status& status) {
    stats_.CountEnd("GetCode", static_cast<grpc::StatusCode>(status.raw_code()));
    reactor->Finish(ToGrpcStatus(status));
  };
  v1::GetCodeRequest request;
  const absl::StatusOr<std::optional<Caller>> caller = AdmitTo("GetCode", *context);
  absl::Status status = caller.status();
  if (status.ok()) status = CheckDeadline(*context);
  if (status.ok()) status = ReadMessage(*bytes, request);
  if (status.ok()) status = CheckMayBe(request.worker(), AlternativeNames(*context));
  if (status.ok()) status = CheckTokenIsFor(request.worker(), *caller);
  auto done = [finish, response](const absl::StatusOr<CodePart>& found) {
    if (found.ok()) {
      v1::GetCodeResponse answer;
      answer.set_parts(found->parts);
      answer.set_data(found->data);
      *response = WriteMessage(answer);
    }
    finish(found.status());
  };
  if (!status.ok()) {
    finish(status);
  } else if (!code_.Get(request.digest(), request.part(), done)) {
    finish(absl::ResourceExhaustedError(
        "the coordinator is busy: too many parts of code wait; try again in a second"));
  }
  return reactor;
}

void FleetService::LookAgain(StreamId id, absl::Duration after) {
  const absl::Duration when = SystemClock().Now().steady + after;
  MutexLock lock(&mutex_);
  waits_.emplace(when, id);
}

void FleetService::EndWaits(absl::Duration now) {
  std::vector<StreamRef> over;
  {
    MutexLock lock(&mutex_);
    while (!waits_.empty() && waits_.begin()->first <= now) {
      const auto found = streams_.find(waits_.begin()->second);
      if (found != streams_.end()) over.push_back(found->second);
      waits_.erase(waits_.begin());
    }
  }
  for (const StreamRef& stream : over) stream->EndWait();
}

size_t FleetService::streams() const {
  MutexLock lock(&mutex_);
  return streams_.size();
}

FleetService::StreamRef FleetService::Find(StreamId id) {
  MutexLock lock(&mutex_);
  auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second;
}

void FleetService::Remove(StreamId id) {
  StreamRef removed;  // destroyed outside the lock
  MutexLock lock(&mutex_);
  auto found = streams_.find(id);
  if (found == streams_.end()) return;
  removed = std::move(found->second);
  streams_.erase(found);
}

void FleetService::SendOrders(OrdersOut&& out) {
  if (StreamRef stream = Find(out.stream)) stream->SendOrders(std::move(out.orders));
}

void FleetService::EndStream(StreamEnd&& end) {
  if (StreamRef stream = Find(end.stream)) stream->FinishOnce(ToGrpcStatus(end.status));
}

void FleetService::EndAll() {
  closing_.store(true);
  std::vector<StreamRef> all;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, stream] : streams_) all.push_back(stream);
  }
  for (const StreamRef& stream : all) {
    stream->FinishOnce({grpc::StatusCode::UNAVAILABLE, kStopping});
  }
}

bool FleetService::Admit(Event& event) {
  const int64_t bytes = static_cast<int64_t>(event.bytes);
  // A single report always fits, however large; the sum of the others is bounded.
  if (bytes > 0 && waiting_bytes_.load() > static_cast<int64_t>(limits::kMailboxBytes))
    return false;
  if (!mailbox_.Post(std::move(event), PostClass::kBulk)) return false;
  waiting_bytes_ += bytes;
  return true;
}

bool FleetService::PostOrPark(Event& event, StreamRef stream) {
  if (Admit(event)) return true;
  // Tries again under the lock that ResumeReads takes: an event refused here is parked before the
  // next drain, which then resumes the stream.
  MutexLock lock(&mutex_);
  if (Admit(event)) return true;
  parked_.push_back(std::move(stream));
  return false;
}

void FleetService::ResumeReads(size_t bytes) {
  waiting_bytes_ -= static_cast<int64_t>(bytes);
  std::vector<StreamRef> parked;
  {
    MutexLock lock(&mutex_);
    parked.swap(parked_);
  }
  EndWaits(SystemClock().Now().steady);
  for (const StreamRef& stream : parked) stream->PostUnposted();
}

}  // namespace dt
