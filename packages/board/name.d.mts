export const NAME: string;
export const OWNER: string;
export const IMAGE: string;
export const REPOSITORY: string;
export const MCP_NAME: string;
export const OLDEST_NODE: readonly number[];
