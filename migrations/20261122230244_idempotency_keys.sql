CREATE TABLE "idempotency_keys" (
	"caller_id" uuid NOT NULL,
	"operation" text NOT NULL,
	"key" text NOT NULL,
	"owner_id" uuid NOT NULL,
	"request_hash" "bytea" NOT NULL,
	"status" smallint,
	"answer_sealed" "bytea",
	"shard" smallint NOT NULL,
	"size_bytes" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_caller_id_operation_key_pk" PRIMARY KEY("caller_id","operation","key")
);
--> statement-breakpoint
CREATE TABLE "idempotency_usage" (
	"owner_id" uuid NOT NULL,
	"shard" smallint NOT NULL,
	"size_bytes" bigint NOT NULL,
	CONSTRAINT "idempotency_usage_owner_id_shard_pk" PRIMARY KEY("owner_id","shard")
);
--> statement-breakpoint
CREATE INDEX "idempotency_keys_by_owner" ON "idempotency_keys" USING btree ("owner_id");--> statement-breakpoint
CREATE INDEX "idempotency_keys_by_age" ON "idempotency_keys" USING btree ("created_at");