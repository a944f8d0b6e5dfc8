import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { shape } from "./entries.ts";
import type { TicketServiceTrust } from "./policy.ts";

const SYSTEM = /^[A-Za-z0-9._-]{1,64}$/;
const ACTION = /^[a-z][a-z0-9-]{0,63}\.[a-z0-9._-]{1,128}$/;
const INPUT = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;
const POINTER = /^(\/([!-.0-}]|~0|~1)+){1,16}$/;
const STATE = /^[ -~]{1,200}$/;
const STATES = 32;

export function servicePage(service: TicketServiceTrust): JsonObject {
  return {
    system: service.system,
    action: service.action,
    reference_input: service.referenceInput,
    reference_field: service.referenceField,
    state_field: service.stateField,
    open_states: service.openStates,
    targets_field: service.targetsField,
    operations_field: service.operationsField,
  };
}

export function readService(value: JsonValue, where: string): TicketServiceTrust {
  const service = shape.members(value, where, [
    "system",
    "action",
    "reference_input",
    "reference_field",
    "state_field",
    "open_states",
    "targets_field",
    "operations_field",
  ]);
  const field = (given: JsonValue, name: string): string => shape.text(given, `${where}/${name}`, 512, POINTER);
  const openStates = shape.list(service.open_states, `${where}/open_states`, STATES, (state, place) =>
    shape.text(state, place, 200, STATE),
  );
  if (openStates.length === 0) shape.refuse(`${where}/open_states`, "at least one state");
  return {
    system: shape.text(service.system, `${where}/system`, 64, SYSTEM),
    action: shape.text(service.action, `${where}/action`, 200, ACTION),
    referenceInput: shape.text(service.reference_input, `${where}/reference_input`, 128, INPUT),
    referenceField: field(service.reference_field, "reference_field"),
    stateField: field(service.state_field, "state_field"),
    openStates,
    targetsField: service.targets_field === null ? null : field(service.targets_field, "targets_field"),
    operationsField: service.operations_field === null ? null : field(service.operations_field, "operations_field"),
  };
}
