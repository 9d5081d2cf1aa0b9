// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/operation_options.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"
#include "capture/selection/operations.hpp"

namespace iotrail::cli {
namespace {

using capture::Operation;

std::set<std::string_view> class_names() {
  std::set<std::string_view> names;
  for (const Operation& operation : capture::all_operations())
    names.insert(operation.class_name);
  return names;
}

std::string near_operation(std::string_view name) {
  std::set<std::string> names;
  const bool is_call_alone = name.starts_with(capture::kCallAlone);
  for (const Operation& operation : capture::all_operations())
    names.insert(fmt::format("{}{}", is_call_alone ? capture::kCallAlone : "", operation.call));
  if (!is_call_alone)
    for (const std::string_view name_of_class : class_names())
      names.emplace(name_of_class);
  return did_you_mean(name, names);
}

Result<void> fail_unknown(std::string_view option, std::string_view name) {
  const std::string what = fmt::format("{}: there is no operation '{}'", option, name);
  if (std::string near = near_operation(name); !near.empty())
    return fail_usage(what, {}, std::move(near));
  return fail_usage(
      what,
      fmt::format("operations are calls by name, of the system (pread64), the C library "
                  "(fwrite), io_uring (IORING_OP_READ) and libaio (IOCB_CMD_PREAD), and "
                  "classes of them: {}",
                  fmt::join(class_names(), ", ")),
      "Requests of disks are chosen with --device, or as events with --events.");
}

bool is_event_of_operations(const schema::Event& event) {
  return std::ranges::any_of(capture::all_operations(),
                             [&](const Operation& operation) { return operation.event == &event; });
}

// Whether the source that tells of an operation tells of something that comes of it. The life of processes comes of none.
bool has_trace(const capture::Filter& filter, const Operation& operation) {
  if (filter.records(*operation.event))
    return true;
  const std::uint32_t source = schema::source_of(operation.event->layer);
  return std::ranges::any_of(schema::kEvents, [&](const schema::Event& event) {
    return !event.is_dictionary() && schema::source_of(event.layer) == source &&
           event.layer != schema::Layer::process && filter.records(event) &&
           !is_event_of_operations(event);
  });
}

} // namespace

Result<void> check_operation_names(std::string_view option, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::ranges::none_of(capture::all_operations(), [&](const Operation& operation) {
          return capture::has_name(operation, name);
        }))
      return fail_unknown(option, name);
  return {};
}

bool are_library_calls(const std::vector<std::string>& names) {
  return !names.empty() &&
         std::ranges::none_of(capture::all_operations(), [&](const Operation& operation) {
           return operation.event->layer != schema::Layer::app &&
                  std::ranges::any_of(names, [&](const std::string& name) {
                    return capture::has_name(operation, name);
                  });
         });
}

void declare_operations(CLI::App& app, capture::Selector& wanted, capture::Selector& excluded) {
  app.option_defaults()->group("Operations to record");
  app.add_option("--operations", wanted.operations,
                 "Only these operations, with their effects: calls or classes of calls, separated "
                 "by commas (fsync,pread64). `read` is the class, `call:read` the call alone. C "
                 "library calls and system calls have separate names")
      ->type_name("OPERATION")
      ->delimiter(',');
  app.add_option("--exclude-operations", excluded.operations,
                 "Exclude these operations and their effects")
      ->type_name("OPERATION")
      ->delimiter(',');
}

Result<void> check_operations(const capture::Filter& filter) {
  if (!filter.filters_operations())
    return {};
  if (auto checked = check_operation_names("--operations", filter.wanted.operations); !checked)
    return checked;
  if (auto checked = check_operation_names("--exclude-operations", filter.excluded.operations);
      !checked)
    return checked;
  const auto& operations = capture::all_operations();
  if (std::ranges::none_of(operations, [&](const Operation& operation) {
        return capture::is_chosen(filter, operation);
      }))
    return fail_usage("nothing to record", "every operation asked for is excluded",
                      "An excluded class is left out with all of its calls.");
  if (std::ranges::none_of(operations, [&](const Operation& operation) {
        return capture::is_chosen(filter, operation) && has_trace(filter, operation);
      }))
    return fail_usage("nothing to record",
                      "no event that is recorded comes of the operations asked for",
                      "Name events of theirs with --events, or their layers with --layers.");
  return {};
}

} // namespace iotrail::cli
