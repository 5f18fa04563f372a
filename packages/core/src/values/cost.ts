import * as z from "zod";
import { valueError } from "./wire.ts";

/**
 * A price in dollars as the provider reported it. The price is kept as text, because a conversion to a binary fraction would
 * change it.
 */
export const CostUsd = z
  .string()
  .regex(
    /^\d{1,9}(\.\d{1,12})?$/,
    valueError("must be a decimal number such as 0.0123, with at most 9 digits before and 12 after the point"),
  )
  .meta({ examples: ["0.0123"] });
