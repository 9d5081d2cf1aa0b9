// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/operations.hpp"

#include <algorithm>

namespace iotrail::capture {
namespace {

constexpr std::string_view kFault = "fault"; // the event's own class gives the kind of access

std::vector<Operation> make_operations() {
  std::vector<Operation> operations;
  const auto add = [&](const schema::Event& event, std::string_view call) {
    operations.push_back({&event, call, schema::class_name(event, call)});
  };
  for (const schema::Syscall& call : schema::kSyscalls)
    add(*schema::find_event(call.event), call.name);
  for (const schema::CallClass& row : schema::kCallClasses)
    if (const schema::Event& event = *schema::find_event(row.event);
        event.layer == schema::Layer::app)
      add(event, row.call);
  const std::string_view async_table = schema::value_table(schema::Meaning::value_async_call);
  for (const schema::Value& value : schema::kValues)
    if (value.table == async_table)
      add(*schema::find_event(IOT_KIND_async_operation), value.name);
  operations.push_back({schema::find_event(IOT_KIND_fault_file), {}, kFault});
  return operations;
}

bool has_any_name(const Operation& operation, const std::vector<std::string>& names) {
  return std::ranges::any_of(names,
                             [&](const std::string& name) { return has_name(operation, name); });
}

} // namespace

const std::vector<Operation>& all_operations() {
  static const std::vector<Operation> operations = make_operations();
  return operations;
}

bool has_name(const Operation& operation, std::string_view name) {
  if (name.starts_with(kCallAlone))
    return !operation.call.empty() && operation.call == name.substr(kCallAlone.size());
  return !name.empty() && (operation.call == name || operation.class_name == name);
}

Choice choice_of(const Filter& filter, const Operation& operation) {
  if (has_any_name(operation, filter.excluded.operations))
    return Choice::excluded;
  return has_any_name(operation, filter.wanted.operations) ? Choice::wanted : Choice::unnamed;
}

bool is_chosen(const Filter& filter, const Operation& operation) {
  const Choice choice = choice_of(filter, operation);
  return choice == Choice::wanted ||
         (choice == Choice::unnamed && filter.wanted.operations.empty());
}

} // namespace iotrail::capture
