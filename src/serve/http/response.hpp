// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iotrail::serve {

struct Response {
  int status = 200;
  std::string type = "application/json; charset=utf-8";
  std::string body{};
  std::string policy = "default-src 'none'"; // of contents, for browsers
  std::string location{};                    // "": none
  std::string allowed = "GET, HEAD, POST";   // methods, of status 405
};

// {"error":"what: why\nhint"}
Response error_response(int status, const Error& error);
Response error_response(int status, std::string_view why);

// The whole answer. Its headers keep browsers from showing it in a frame, from guessing its type,
// from keeping it, and from naming its address, which has the token, to other servers.
std::string to_http(const Response& response, bool with_body = true);

} // namespace iotrail::serve
