// token.h: a bearer token: how it looks, the file that it is kept in, and its way into a call.
//
// Role:    the secret is in a file, never in arguments, the environment, messages or logs.
// Errors:  InvalidArgument naming the flag, the file and the fix, and nothing of what it holds.
// Tests:   tests/common/net/token_test.cc
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "grpcpp/client_context.h"

namespace dt {

// "dtr_" and 256 random bits as hex digits.
std::string FreshToken();
bool IsToken(std::string_view text);
// `flag` is what named the file: "--token-file".
absl::StatusOr<std::string> ReadTokenFile(std::string_view flag, const std::string& path);
// As the metadata `authorization: Bearer …` of a call; nothing for an empty token.
void AddToken(const std::string& token, grpc::ClientContext& context);

}  // namespace dt
