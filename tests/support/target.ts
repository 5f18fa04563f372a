/** What the tests run against: the app in this process, or the Lambda bundles (`npm run test:lambda`). */
export const onLambda = process.env["TEST_TARGET"] === "lambda";
