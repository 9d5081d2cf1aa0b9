// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/reasons.hpp"

#include <span>

#include "capture/kernel/load/kernel_types.hpp"
#include "schema.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr std::uint32_t number_of(std::string_view table, std::string_view name) {
  for (const schema::Value& value : schema::kValues)
    if (value.table == table && value.name == name)
      return value.number;
  return 0;
}

void fill_table(std::span<iot_u8> numbers, const KernelTypes::Enumerators& of_kernel,
                std::string_view prefix, std::string_view table) {
  for (const auto& [name, number] : of_kernel)
    if (number < numbers.size() && name.starts_with(prefix))
      numbers[number] =
          static_cast<iot_u8>(number_of(table, std::string_view(name).substr(prefix.size())));
}

} // namespace

void fill_reasons(iot_config& config, const KernelTypes& types) {
  fill_table(config.drop_reasons, types.enumerators(kDropReasons), "SKB_DROP_REASON_",
             "drop_reason");
  fill_table(config.reset_reasons, types.enumerators(kResetReasons), "SK_RST_REASON_",
             "reset_reason");
  fill_table(config.writeback_reasons, types.enumerators(kWritebackReasons), "WB_REASON_",
             "writeback_reason");
}

} // namespace iotrail::capture::kernel
