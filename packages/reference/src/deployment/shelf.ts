import type { ShelvedPlan } from "../plan/shelf.ts";

export type PromotionIntent = { readonly environment: string; readonly release: string };

export type PromotionPlan = ShelvedPlan & { readonly intent: PromotionIntent };
