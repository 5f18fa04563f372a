CREATE TABLE "gateway_connectivity" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gateway_id" uuid NOT NULL,
	"state" text NOT NULL,
	"version" text,
	"error" text,
	CONSTRAINT "gateway_connectivity_state" CHECK ("gateway_connectivity"."state" in ('connected', 'warned', 'disconnected'))
);
--> statement-breakpoint
ALTER TABLE "gateway_connectivity" ADD CONSTRAINT "gateway_connectivity_gateway_id_gateways_id_fk" FOREIGN KEY ("gateway_id") REFERENCES "public"."gateways"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "gateway_connectivity_by_gateway" ON "gateway_connectivity" USING btree ("gateway_id","created_at","id");