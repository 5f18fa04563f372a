CREATE TABLE "gateway_circuits" (
	"gateway_id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"failures" integer NOT NULL,
	"retry_at" timestamp (3) with time zone NOT NULL,
	"half_open" boolean DEFAULT false NOT NULL,
	"changed_at" timestamp (3) with time zone NOT NULL,
	"last_error" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "organization_slot" integer;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "gateway_slot" integer;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "held_by" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "held_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "give_up_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "gateway_circuits" ADD CONSTRAINT "gateway_circuits_gateway_id_gateways_id_fk" FOREIGN KEY ("gateway_id") REFERENCES "public"."gateways"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_organization_slot" ON "jobs" USING btree ("organization_id","organization_slot") WHERE status = 'running';--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_gateway_slot" ON "jobs" USING btree ("gateway_id","gateway_slot") WHERE status = 'running';--> statement-breakpoint
CREATE INDEX "jobs_held" ON "jobs" USING btree ("organization_id","gateway_id") WHERE held_by is not null;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_held_by" CHECK ("jobs"."held_by" in ('circuit', 'organization', 'gateway'));