// grpc_settings.cc: keepalive, sizes and reconnect backoff; the conversion of status codes.
#include "common/net/grpc_settings.h"

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/limits.h"
#include "common/text.h"
#include "grpc/impl/codegen/grpc_types.h"

namespace dt {
namespace {

constexpr std::string_view kCut = " ...";

}  // namespace

grpc::ChannelArguments ClientChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kControlMessageBytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(limits::kControlMessageBytes));
  // A dead peer is detected in eight seconds; the server allows a ping every four.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 5000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(limits::kReconnectFirst)));
  // The time limit of one attempt to connect, handshake included.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(limits::kReconnectMax)));
  // Costs of the distribution's gRPC that we do not need: channelz, and a probe of the
  // bandwidth-delay product whose pings cost more than they gain on loopback or in a cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return arguments;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string message(status.message());
  if (PercentEncodedBytes(message) > limits::kStatusMessageBytes) {
    // In the worst case every byte takes three bytes.
    message = CleanText(message, limits::kStatusMessageBytes / 3 - kCut.size());
    message += kCut;
  }
  return {static_cast<grpc::StatusCode>(status.raw_code()), message};
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

}  // namespace dt
