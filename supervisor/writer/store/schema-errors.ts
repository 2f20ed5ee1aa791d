// Why the schema of a relational store cannot be used. Their messages tell the operator what to do and hold no secret.

/** Only an operator can repair the schema; a later attempt fails as well. */
export class SchemaError extends Error {}

/** Raised for a database that a newer version of the gateway has migrated. */
export class NewerSchemaError extends SchemaError {
  /** @param known the newest schema version of this gateway. */
  constructor(version: number, known: number) {
    super(`The traffic log has schema version ${version}; this version of the gateway knows ${known}.`)
    this.name = 'NewerSchemaError'
  }
}

/** Raised where the schema is not the current one and may not be changed. */
export class SchemaMissingError extends SchemaError {
  constructor() {
    super(
      'The tables of the traffic log are missing or older than this version. Set GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE=True, or let a user who may create tables start the gateway once with it.'
    )
    this.name = 'SchemaMissingError'
  }
}
