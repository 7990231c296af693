// unary_call.h: one unary call in progress: its caller, its request, its end.
//
// Role:      every method of Control and Access begins with Begin and ends with Finish, so that all
//            are admitted, counted and recorded in the same way.
// Ownership: borrows the statistics and the door. If the door is nullptr, every caller may do
//            everything, as without --auth=tokens.
// Threads:   Begin runs on gRPC's threads; one copy calls Finish once, on the thread that has the
//            answer.
// Tests:     tests/coordinator/rpc/rpc_test.cc, door_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/clock.h"
#include "common/net/grpc_settings.h"
#include "common/status.h"
#include "coordinator/door/door.h"
#include "coordinator/rpc/call_deadline.h"
#include "coordinator/rpc/rpc_stats.h"
#include "coordinator/rpc/shown.h"
#include "coordinator/rpc/subject.h"
#include "coordinator/rpc/wire.h"
#include "grpcpp/support/server_callback.h"

namespace dt {

class UnaryCall {
 public:
  UnaryCall(RpcStats& stats, Door* door, std::string_view method,
            grpc::CallbackServerContext* context)
      : stats_(stats),
        door_(door),
        method_(method),
        context_(context),
        reactor_(context->DefaultReactor()),
        start_(absl::Now()) {}

  // Admits the caller, checks the deadline, and reads the request. If the request has a field
  // `who`, the name in the token or certificate replaces it; without either, the client's value
  // stays.
  absl::Status Begin(const grpc::ByteBuffer& bytes, google::protobuf::Message& request) {
    if (door_ != nullptr) {
      const Shown shown = ShownBy(*context_);
      DT_ASSIGN_OR_RETURN(caller_, door_->Admit(method_, shown));
      peer_ = shown.peer;
    }
    DT_RETURN_IF_ERROR(CheckDeadline(*context_));
    deadline_ = absl::FromChrono(context_->deadline());
    DT_RETURN_IF_ERROR(ReadMessage(bytes, request));
    const std::string known = caller_ ? caller_->name : CommonName(*context_);
    if (!known.empty()) SetWho(request, known);
    subject_ = SubjectOf(request);
    return absl::OkStatus();
  }
  // `subject` names what the call was about if the request could not.
  void Finish(const absl::Status& status, const std::string& subject = "") const {
    stats_.CountEnd(method_, static_cast<grpc::StatusCode>(status.raw_code()));
    stats_.CountTime(method_, absl::Now() - start_);
    if (caller_) {
      door_->Record(*caller_, method_, subject.empty() ? subject_ : subject, status, peer_);
    }
    reactor_->Finish(ToGrpcStatus(status));
  }
  // Returns the same as OnlyOf in rights.h; "" if there is no door.
  std::string OnlyOf() const { return caller_ ? dt::OnlyOf(*caller_, method_) : ""; }
  // Returns the time by which the caller wants the answer.
  absl::Time deadline() const { return deadline_; }
  const std::optional<Caller>& caller() const { return caller_; }
  std::string caller_name() const { return caller_ ? caller_->name : ""; }
  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

 private:
  RpcStats& stats_;
  Door* door_;
  std::string_view method_;               // of the table of rights
  grpc::CallbackServerContext* context_;  // used by Begin alone
  grpc::ServerUnaryReactor* reactor_;
  absl::Time start_;
  absl::Time deadline_ = absl::InfiniteFuture();
  std::optional<Caller> caller_;
  std::string peer_;
  std::string subject_;
};

}  // namespace dt
