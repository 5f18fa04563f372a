/** The name of the npm package, the image, the Helm chart and the entry in the MCP registry. */
export const NAME = "board-coordination";

/** The GitHub account that publishes the image, the chart and the registry entry. */
export const OWNER = "board-coordination";

export const IMAGE = `ghcr.io/${OWNER}/${NAME}`;
export const REPOSITORY = `https://github.com/${OWNER}/${NAME}`;
/** The name in the MCP registry, which requires that it begins with the GitHub account. */
export const MCP_NAME = `io.github.${OWNER}/${NAME}`;

/** The oldest Node that runs the package. */
export const OLDEST_NODE = [22, 15];
