import { Integer, NonEmpty } from "./wire.ts";

const MAX_KEY = 200;
const MAX_MODEL = 100;
/** The maximum number of tokens of one entry. Sums of millions of such entries are still exact JSON numbers. */
const MAX_TOKENS = 1_000_000_000;

/** A key under which a usage report is counted only once, even if it is sent again. */
export const UsageKey = NonEmpty(MAX_KEY);
export const ModelName = NonEmpty(MAX_MODEL);
/** A number of tokens in one entry. */
export const TokenCount = Integer(0, MAX_TOKENS);
