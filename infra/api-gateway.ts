import { stageOf } from "./stage.ts";

const { retention, throttle } = stageOf($app.stage);

export const apiGateway = new sst.aws.ApiGatewayV2("Api", {
  // The service answers preflights itself, by its own setting: API Gateway's CORS would overwrite its headers.
  cors: false,
  accessLog: { retention },
  transform: {
    stage: (args) => {
      args.defaultRouteSettings = { throttlingRateLimit: throttle.rate, throttlingBurstLimit: throttle.burst };
    },
  },
});
