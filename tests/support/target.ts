/** Whether the tests run against the Lambda bundles (`npm run test:lambda`) instead of the app in this process. */
export const onLambda = process.env["TEST_TARGET"] === "lambda";
