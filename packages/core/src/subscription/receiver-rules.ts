import type { AddressRules } from "../dns/address.ts";
import type { Settings } from "../config/settings.ts";

const LOOPBACK = ["localhost", "127.0.0.0/8", "::1"];

/**
 * Converts the settings to the rules that decide which receivers may be posted to. The hosts of gateways are not among them:
 * every tenant may subscribe, and a test message shows what the receiver answers.
 */
export const toReceiverRules = ({
  subscription_allowed_hosts,
  loopback_receivers_allowed,
}: Pick<Settings, "subscription_allowed_hosts" | "loopback_receivers_allowed">): AddressRules => ({
  allowed_hosts: [...subscription_allowed_hosts, ...(loopback_receivers_allowed ? LOOPBACK : [])],
  private_addresses_allowed: false,
});
