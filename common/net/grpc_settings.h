// grpc_settings.h: settings for every gRPC client of the coordinator, and conversion of status
// codes.
//
// Threads: pure functions.
// Tests:   tests/coordinator/rpc/rpc_test.cc
#pragma once

#include "absl/status/status.h"
#include "grpcpp/support/channel_arguments.h"
#include "grpcpp/support/status.h"

namespace dt {

// Returns keepalive, message sizes and reconnect backoff for every client of the coordinator.
grpc::ChannelArguments ClientChannelArguments();

// Both code sets are the same. Details are dropped, and so is text beyond the size of a trailer.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace dt
