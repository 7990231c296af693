// wire.h: messages from bytes and to bytes, so that a message that cannot be read is answered with
// what is wrong with it.
//
// Role:    gRPC's own reading of requests says of such a message that the call is not implemented,
//          and ends a stream without a word. The services take bytes and read them here.
// Errors:  InvalidArgument naming the text that is not UTF-8, or that the bytes are no such
//          message.
// Tests:   tests/coordinator/rpc/wire_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace dt {

absl::Status ReadMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message& message);
grpc::ByteBuffer WriteMessage(const google::protobuf::Message& message);

// The first text in `message` that is not UTF-8, by its path ("spec.labels[0].value"); "": none.
std::string MalformedText(const google::protobuf::Message& message);

// Keeps libprotobuf from printing a line for each malformed text: who sent it is told by name.
void QuietProtobuf();

}  // namespace dt
