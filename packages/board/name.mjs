/** The name by which the service is installed: of the package, the image, the chart and the entry of the MCP registry. */
export const NAME = "board-coordination";

/** The account at GitHub that publishes it. Image, chart and registry entry are below this account. */
export const OWNER = "board-coordination";

export const IMAGE = `ghcr.io/${OWNER}/${NAME}`;
export const REPOSITORY = `https://github.com/${OWNER}/${NAME}`;
/** The MCP registry proves the account by its name. */
export const MCP_NAME = `io.github.${OWNER}/${NAME}`;

/** The oldest Node that runs the package. */
export const OLDEST_NODE = [22, 15];
