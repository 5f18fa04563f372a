-- Removing an organization takes its boards and its gateways by cascade in no fixed order: the check waits for the commit.
ALTER TABLE "boards" ALTER CONSTRAINT "boards_gateway_id_gateways_id_fk" DEFERRABLE INITIALLY DEFERRED;
