// SPDX-License-Identifier: BSD-3-Clause
//
// The head of a request as a hostile client may write it. What is accepted is within the limits,
// and each segment of its path comes back as it was.
#include "serve/http/request.hpp"

#include <cstdlib>

using namespace iotrail::serve;

namespace {

void check(bool holds) {
  if (!holds)
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto request = parse_head({reinterpret_cast<const char*>(data), size});
  if (!request) {
    check(request.error().status >= 400 && !request.error().why.empty());
    return 0;
  }
  check(!request->path.empty() && request->body_bytes <= kBodyBytesMost);
  std::string target;
  for (const std::string& segment : request->path) {
    check(segment.find('\0') == std::string::npos);
    target += "/" + percent_encoded(segment);
  }
  const auto again = parse_head("GET " + target + " HTTP/1.1");
  check(again.has_value() && again->path == request->path);
  return 0;
}
