import type { AddressRules } from "../wire/address.ts";
import type { Settings } from "@board/core/config/settings";

/** Converts the settings to the rules that decide which gateway addresses may be dialled. */
export const toAddressRules = (settings: Pick<Settings, "gateway_allowed_hosts" | "private_gateways_allowed">): AddressRules => ({
  allowed_hosts: settings.gateway_allowed_hosts,
  private_addresses_allowed: settings.private_gateways_allowed,
});
