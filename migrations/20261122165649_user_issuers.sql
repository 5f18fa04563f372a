ALTER TABLE "users" DROP CONSTRAINT "users_auth_subject_unique";--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "auth_issuer" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_identity" UNIQUE("auth_subject","auth_issuer");