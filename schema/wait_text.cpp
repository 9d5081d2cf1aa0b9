// SPDX-License-Identifier: BSD-3-Clause
#include "wait_text.hpp"

#include <unordered_map>

namespace iotrail::schema {

namespace {

constexpr WaitReason kReasons[] = {
#define WAIT_REASON(name, is_for_others, doc) {#name, is_for_others != 0, doc},
#include "wait_functions.def"
};

struct Function {
  std::string_view reason; // empty: unknown
  bool decides;            // regardless of its callers
  bool is_means;           // its callers decide the reason
};

const std::unordered_map<std::string_view, Function>& functions() {
  static const std::unordered_map<std::string_view, Function> kFunctions = {
#define WAIT_FUNCTION(name, reason) {#name, {#reason, true, false}},
#define WAIT_LOCK(name) {#name, {"lock", true, true}},
#define WAIT_MEANS(name, reason) {#name, {#reason, false, true}},
#include "wait_functions.def"
  };
  return kFunctions;
}

const Function* find_function(std::string_view name) {
  const auto found = functions().find(name);
  return found == functions().end() ? nullptr : &found->second;
}

// Removes the innermost name from the stack. Compilers add suffixes after a dot, the kernel adds a
// module after a blank.
std::string_view take_innermost(std::string_view& stack) {
  const std::size_t separator = stack.rfind(';');
  const std::string_view name = separator == stack.npos ? stack : stack.substr(separator + 1);
  stack = separator == stack.npos ? std::string_view{} : stack.substr(0, separator);
  return name.substr(0, name.find_first_of(". "));
}

} // namespace

std::span<const WaitReason> wait_reasons() {
  return kReasons;
}

std::string_view wait_reason(std::string_view stack) {
  std::string_view likely;
  while (!stack.empty()) {
    const Function* function = find_function(take_innermost(stack));
    if (function == nullptr)
      continue;
    if (function->decides)
      return function->reason;
    if (likely.empty())
      likely = function->reason;
  }
  return likely.empty() ? kReasons[0].name : likely;
}

std::string_view wait_place(std::string_view stack) {
  std::string_view whole = stack;
  while (!stack.empty())
    if (const std::string_view name = take_innermost(stack); !name.empty())
      if (const Function* function = find_function(name);
          function == nullptr || !function->is_means)
        return name;
  return take_innermost(whole);
}

} // namespace iotrail::schema
