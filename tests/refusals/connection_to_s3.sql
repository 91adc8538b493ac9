-- over: statement
-- at: 1:25
-- title: a connection to S3 is not supported yet
-- hint: connections go to POSTGRES, KAFKA or HTTP
CREATE CONNECTION wh TO S3 (BUCKET 'b')
