//! What a script asks of a graph: calls of its HTTP API, and what these do not tell.

/// A graph, and who asks it.
pub trait GraphCalls {
    /// Makes a call.
    ///
    /// # Errors
    /// There is no reply that a script can go on with.
    fn call(&mut self, call: &GraphCall<'_>) -> Result<CallReply, CallError>;

    /// How many nodes or relationships there are of a type, or of all; of a type that is not there, none.
    ///
    /// # Errors
    /// Whoever asks may not know it.
    fn count(&mut self, side: Side, type_name: Option<&str>) -> Result<u64, CallError>;

    /// The type of this number, where it can be seen.
    fn type_name(&mut self, side: Side, number: u16) -> Option<String>;

    /// The number of the type of this name, where it can be seen.
    fn type_number(&mut self, side: Side, name: &str) -> Option<u16>;
}

/// A call of the HTTP API.
#[derive(Debug, Clone, Copy)]
pub struct GraphCall<'a> {
    pub method: Method,
    /// What follows `/db/{graph}/`, in percent-encoding.
    pub path: &'a str,
    pub query: Option<&'a str>,
    pub body: &'a [u8],
    /// The most bytes that the body of the reply may have.
    pub reply_bytes_max: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

/// Nodes or relationships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Nodes,
    Relationships,
}

impl Side {
    /// The word of paths.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "nodes" => Some(Self::Nodes),
            "relationships" => Some(Self::Relationships),
            _ => None,
        }
    }
}

/// The response to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallReply {
    pub status: u16,
    pub body: Vec<u8>,
}

/// A call that is refused, or not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// That of the response to the script, where it ends with this.
    pub status: u16,
    pub message: String,
}
