import { createECDH } from "node:crypto";
import { encrypt, MAX_MESSAGE_BYTES } from "@board/core/push/encrypt";
import { expect, test } from "vitest";
import { createReader } from "../support/push-service.ts";

const decode = (text: string) => Buffer.from(text, "base64url");

test("encrypting the example of RFC 8291 gives the bytes that the RFC shows", () => {
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"));
  const keys = {
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg",
  };
  const body = encrypt("When I grow up, I want to be a watermelon", keys, { pair, salt: decode("DGv6ra1nlYgDCS1FRnbzlw") });
  expect(body.toString("base64url")).toBe(
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
  );
});

test("the longest message has the size that every push service accepts", () => {
  const { keys, decrypt } = createReader();
  const text = "x".repeat(MAX_MESSAGE_BYTES);
  const body = encrypt(text, keys);
  expect(body.length).toBe(4_096);
  expect(decrypt(body)).toBe(text);
});
